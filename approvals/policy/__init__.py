"""The gate before the call: whether a tool may run, who is asked, and what the votes come to.

Pure: (rules, request) -> Gate, and (snapshot, ballots, now) -> Decision. It fails closed: what no
rule matches is `ask`, an error in a rule is `ask`, and no deadline and no error ever allows a call.
"""

from approvals.policy.decision import (
    Approved,
    Ballot,
    Decision,
    Denied,
    Expired,
    Snapshot,
    Waiting,
    decision,
)
from approvals.policy.differences import differences
from approvals.policy.evaluate import gate
from approvals.policy.model import (
    DEFAULT_ASK,
    Ask,
    AtDeadline,
    Audience,
    BadRule,
    Condition,
    Effect,
    Gate,
    Operator,
    Request,
    Rule,
    Starter,
    StarterKind,
    Step,
)
from approvals.policy.reading import read_condition, read_rule
from approvals.policy.reading_ask import read_ask, read_questions
from approvals.policy.words import Sentences, answering, consequence, describe, explain, in_words

__all__ = [
    "DEFAULT_ASK",
    "Approved",
    "Ask",
    "AtDeadline",
    "Audience",
    "BadRule",
    "Ballot",
    "Condition",
    "Decision",
    "Denied",
    "Effect",
    "Expired",
    "Gate",
    "Operator",
    "Request",
    "Rule",
    "Sentences",
    "Snapshot",
    "Starter",
    "StarterKind",
    "Step",
    "Waiting",
    "answering",
    "consequence",
    "decision",
    "describe",
    "differences",
    "explain",
    "gate",
    "in_words",
    "read_ask",
    "read_condition",
    "read_questions",
    "read_rule",
]
