"""Every way in which a word reaches an item, for tests that try to get past the rules."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import binding
from approvals.decide import Said, decide
from approvals.models import Approval, ApprovalState, Choice, Kind, Verdict, Vote
from approvals.verdict import Word, decide_gate
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.accounts.sessions import TEAM_KEY
from tasks_monitor.models import Delivery, Server
from tasks_monitor.states import State
from tests.api.calling import Caller, a_token
from tests.approvals.conftest import Join
from tests.factories import NOW, AbsenceFactory

_WORDS = {Kind.GATE: ("approve", "deny"), Kind.ANSWER: ("accept", "decline")}


either_word = pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])


def proof(approval: Approval, member: Member) -> str:
    """What the desk would put into the form of this item for this person now."""
    shown = Approval.objects.get(pk=approval.pk)
    return binding.bind(shown, user_id=member.user_id, now=timezone.now())


def browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    session = client.session
    session[TEAM_KEY] = member.team_id
    session.save()
    return client


def by_page(approval: Approval, member: Member, token: str, *, yes: bool, **headers: str) -> Any:
    word = _WORDS[Kind(approval.kind)][0 if yes else 1]
    form = {"binding": token, "choice": word, "reason": "because"}
    return browser(member).post(reverse("inbox_decide", args=[approval.pk]), form, **headers)


def by_htmx(approval: Approval, member: Member, token: str, *, yes: bool) -> Any:
    headers = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "inbox-detail"}
    return by_page(approval, member, token, yes=yes, **headers)


def in_bulk(approval: Approval, member: Member, token: str, *, yes: bool) -> Any:
    form = {
        "item": [str(approval.pk)],
        f"binding-{approval.pk}": token,
        "choice": "approve" if yes else "deny",
        "reason": "because",
    }
    return browser(member).post(reverse("inbox_several"), form)


def by_api(approval: Approval, member: Member, token: str, *, yes: bool) -> Any:
    """With a token of this person for this team that may all there is, as one from before may."""
    word = _WORDS[Kind(approval.kind)][0 if yes else 1]
    said = {"binding": token, "choice": word, "reason": "because"}
    caller = Caller(*a_token(member.team, member.user))
    return caller.post(f"/approvals/{approval.pk}/decision", said)


def by_verb(approval: Approval, member: Member, token: str, *, yes: bool) -> Any:
    """What a page of tomorrow would call: the member is as stale as the caller's."""
    now = timezone.now()
    if approval.kind == Kind.GATE:
        verdict = Verdict.APPROVE if yes else Verdict.DENY
        return decide_gate(
            approval.pk, member=member, word=Word(verdict, token, "because"), now=now
        )
    said = Said(Choice.ACCEPT if yes else Choice.DECLINE, token)
    return decide(approval.pk, member=member, said=said, now=now)


Path = Callable[..., Any]
PATHS: dict[str, Path] = {
    "page": by_page,
    "htmx": by_htmx,
    "bulk": in_bulk,
    "api": by_api,
    "verb": by_verb,
}
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
#: Where several people speak one after another: the page, and a program with their tokens.
page_or_api = pytest.mark.parametrize("path", [by_page, by_api], ids=["page", "api"])


def always(team: Team, member: Member, stand_in: Member) -> None:
    """`member` is away, now and for a long time."""
    AbsenceFactory(
        team=team, user=member.user, stand_in=stand_in.user, ends_at=NOW.replace(year=2099)
    )


def as_they_are(starter: Member, team: Team, item: Approval, join: Join) -> None: ...


def as_approver(starter: Member, team: Team, item: Approval, join: Join) -> None:
    Membership.objects.filter(user=starter.user).update(role=Role.APPROVER)


def as_admin(starter: Member, team: Team, item: Approval, join: Join) -> None:
    Membership.objects.filter(user=starter.user).update(role=Role.ADMIN)


def as_superuser(starter: Member, team: Team, item: Approval, join: Join) -> None:
    as_admin(starter, team, item, join)
    User.objects.filter(pk=starter.user_id).update(is_superuser=True, is_staff=True)


def as_named(starter: Member, team: Team, item: Approval, join: Join) -> None:
    item.people.add(starter.user)


def as_stand_in(starter: Member, team: Team, item: Approval, join: Join) -> None:
    always(team, join(Role.APPROVER), starter)
    always(team, join(Role.ADMIN), starter)


def untouched(approval: Approval) -> bool:
    """Nobody's word was taken, and nothing leaves."""
    now = Approval.objects.select_related("operation").get(pk=approval.pk)
    waits = now.operation.state in (State.AWAITING_APPROVAL, State.INPUT_REQUIRED)
    nothing = not (Vote.objects.exists() or Delivery.objects.exists())
    return nothing and waits and now.state == ApprovalState.OPEN and now.proposal is None


def left(approval: Approval) -> bool:
    """Whether it came to a yes: the call may run, or the answer is on its way."""
    now = Approval.objects.select_related("operation").get(pk=approval.pk)
    if now.kind == Kind.GATE:
        return now.operation.state == State.READY
    return Delivery.objects.filter(input_request=now.input_request, action="accept").exists()


def as_it_is(server: Server) -> dict[str, Any]:
    """What change_server() takes, for a server that stays what it is."""
    kept = ("name", "identity", "auth_kind", "credential", "allow_private", "questions_to")
    return {
        name: getattr(server, name) for name in (*kept, "paused", "max_in_flight", "call_timeout_s")
    }
