"""The policies, and the inbox: approvals, the votes on them, what people have typed so far."""

from approvals.models.choices import ApprovalState, Audience, Choice, Kind, Shape, Verdict
from approvals.models.items import AT_ONCE, Approval, Comment, Draft, Look, Vote
from approvals.models.policies import ClockTimestamp, Effect, PolicyRule, PolicyVersion
from approvals.models.shortcuts import ListPlace, ReasonPreset, Remembered, SavedFilter

__all__ = [
    "AT_ONCE",
    "Approval",
    "ApprovalState",
    "Audience",
    "Choice",
    "ClockTimestamp",
    "Comment",
    "Draft",
    "Effect",
    "Kind",
    "ListPlace",
    "Look",
    "PolicyRule",
    "PolicyVersion",
    "ReasonPreset",
    "Remembered",
    "SavedFilter",
    "Shape",
    "Verdict",
    "Vote",
]
