"""What tests of the gate do: make rules, ask for a call, say a word."""

from datetime import datetime, timedelta
from typing import Any

from approvals import binding
from approvals.gate import Requested, request_start
from approvals.models import Approval, Verdict
from approvals.outcomes import VerdictOutcome
from approvals.verdict import Word, decide_gate
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Team
from mcpdesk.audit.log import Actor
from tests.factories import NOW, PolicyRuleFactory, ServerFactory

LATER = NOW + timedelta(minutes=5)


def rule(
    team: Team, effect: str = "ask", *, ask: dict[str, Any] | None = None, **match: Any
) -> Any:
    """A rule behind those that the team has."""
    return PolicyRuleFactory(team=team, effect=effect, match=match, ask=ask or {})


def request(member: Member, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    """What request_start makes of a call of this member."""
    server = more.pop("server", None) or ServerFactory(team=member.team)
    given = {"project": "api"} if arguments is None else arguments
    return request_start(
        team_id=member.team_id,
        server_id=server.pk,
        tool_name=more.pop("tool", "deploy_project"),
        arguments=given,
        actor=more.pop("actor", None) or Actor.person(member),
        now=NOW,
        **more,
    )


def a_gate(member: Member, ask: dict[str, Any] | None = None, **more: Any) -> Approval:
    """An open gate for a call of this member, made by a rule that asks in this way."""
    rule(member.team, ask=ask)
    made = request(member, **more)
    assert isinstance(made, Requested)
    assert made.approval is not None
    return made.approval


def token(approval: Approval, member: Member, now: datetime = NOW) -> str:
    return binding.bind(Approval.objects.get(pk=approval.pk), user_id=member.user_id, now=now)


def say(
    approval: Approval, member: Member, verdict: Verdict = Verdict.APPROVE, **more: Any
) -> VerdictOutcome:
    """This member's word on the gate, as their page would post it."""
    now = more.pop("now", LATER)
    word = Word(
        verdict,
        more.pop("token", None) or token(approval, member, now),
        more.pop("reason", "because" if verdict == Verdict.DENY else ""),
        **more,
    )
    return decide_gate(approval.pk, member=member, word=word, now=now)
