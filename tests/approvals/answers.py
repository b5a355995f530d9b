"""What tests of answers do that several people agree to."""

from datetime import timedelta
from typing import Any

from approvals import binding, proposal, question
from approvals.decide import Said, decide
from approvals.models import Approval, Choice
from approvals.outcomes import Outcome
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Team
from tests.factories import NOW, PolicyRuleFactory

LATER = NOW + timedelta(minutes=5)


def questions_rule(team: Team, **ask: Any) -> Any:
    """A rule that lets calls run, and says who answers what the server asks during them."""
    asked = {"quorum": 2, "four_eyes": True, **ask}
    return PolicyRuleFactory(team=team, questions=asked)


def token(approval: Approval, member: Member) -> str:
    shown = Approval.objects.get(pk=approval.pk)
    return binding.bind(shown, user_id=member.user_id, now=NOW)


def propose(approval: Approval, member: Member, submitted: Any = None, **more: Any) -> Outcome:
    """This member's yes with these fields, as their page would post it."""
    proof = more.pop("token", None) or token(approval, member)
    now, choice = more.pop("now", LATER), more.pop("choice", Choice.ACCEPT)
    said = Said(choice, proof, submitted or {}, **more)
    return decide(approval.pk, member=member, said=said, now=now)


def confirm(approval: Approval, member: Member, **more: Any) -> Outcome:
    """This member posts what their form shows, as it is, with `fields` typed over it."""
    shown = Approval.objects.select_related("input_request__operation__server").get(pk=approval.pk)
    assert shown.input_request is not None
    posted = proposal.posted(shown, question.read(shown.input_request)) or {}
    return propose(approval, member, {**posted, **more.pop("fields", {})}, **more)
