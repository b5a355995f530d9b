"""Approvals that are remembered: who may leave one, which calls it counts for, and until when."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from approvals import remembered
from approvals.foresight import foresee
from approvals.gate import Requested
from approvals.models import Approval, PolicyRule, Remembered, Verdict
from approvals.remembered import Scope
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from tasks_monitor.engine.servers import change_server
from tasks_monitor.models import Operation, Server
from tasks_monitor.states import State
from tests.api.calling import a_token
from tests.approvals.attacks import as_it_is
from tests.approvals.conftest import Join
from tests.approvals.gates import LATER, a_gate, request, rule, say
from tests.engine.conftest import an_admin
from tests.factories import NOW, ServerFactory

pytestmark = pytest.mark.django_db

ASK = {"remember": True}
SAME = Scope(any_arguments=False, whole_team=False, hours=1)
ANY = replace(SAME, any_arguments=True)
TEAM = replace(SAME, whole_team=True)
ARGUMENTS = {"project": "api", "n": 1}


@pytest.fixture
def server(operator: Member) -> Server:
    server: Server = ServerFactory(team=operator.team)
    return server


@pytest.fixture
def call(operator: Member, server: Server) -> dict[str, Any]:
    """What a call like the one that was approved is asked for with."""
    return {"arguments": ARGUMENTS, "server": server}


def approved(
    starter: Member, server: Server, *deciders: Member, ask: dict[str, Any] | None = None
) -> Approval:
    """A gate of a rule that remembers, approved by these."""
    gate = a_gate(starter, {**ASK, **(ask or {})}, arguments=ARGUMENTS, server=server)
    for decider in deciders:
        say(gate, decider)
    return Approval.objects.get(pk=gate.pk)


def left(
    starter: Member,
    server: Server,
    *deciders: Member,
    scope: Scope = SAME,
    ask: dict[str, Any] | None = None,
) -> Remembered:
    """The last of these has had their approval remembered."""
    gate = approved(starter, server, *deciders, ask=ask)
    return remembered.remember(gate.pk, member=deciders[-1], scope=scope, now=LATER)


def asks(member: Member, call: dict[str, Any], **more: Any) -> bool:
    """Whether such a call of this member waits for people."""
    made = request(member, **{**call, **more})
    assert isinstance(made, Requested)
    waits = made.operation.state == State.AWAITING_APPROVAL
    assert waits is (made.approval is not None) is (made.by is None)
    return waits


# --- leaving one


def test_whoever_approved_it_last_has_it_remembered_and_the_log_says_so(
    operator: Member, approver: Member, server: Server
) -> None:
    one = left(operator, server, approver)
    assert (one.server, one.tool_name, one.starter) == (server, "deploy_project", operator.user)
    assert one.arguments_digest == remembered.digest(ARGUMENTS)
    assert (one.created_by, one.ends_at) == (approver.user, LATER + timedelta(hours=1))
    event = Event.objects.get(kind="remembered.left")
    assert (event.actor, event.approval_id) == (approver.user, one.approval_id)
    assert event.sentence.endswith("for 1 h: the same arguments, the same person")
    assert "api" not in str(event.data)


def test_a_rule_that_does_not_say_so_remembers_nothing(
    operator: Member, approver: Member, server: Server
) -> None:
    gate = approved(operator, server, approver, ask={"remember": False})
    PolicyRule.objects.update(ask={"remember": True})
    assert not remembered.may_leave(gate)
    with pytest.raises(Refused, match="does not let"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)


def test_only_the_last_of_those_who_approved_may(
    operator: Member, approver: Member, server: Server, join: Join
) -> None:
    last = join()
    gate = approved(operator, server, approver, last, ask={"quorum": 2})
    for other in (approver, operator, join(Role.ADMIN), join(Role.AUDITOR)):
        with pytest.raises(Refused, match="Only whoever approved it last"):
            remembered.remember(gate.pk, member=other, scope=SAME, now=LATER)
    assert remembered.can_still_leave(gate, last, LATER)
    assert remembered.remember(gate.pk, member=last, scope=SAME, now=LATER)


def test_what_is_open_or_denied_is_not_remembered(
    operator: Member, approver: Member, server: Server
) -> None:
    gate = approved(operator, server)
    with pytest.raises(Refused, match="approved it last"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)
    say(gate, approver, Verdict.DENY)
    with pytest.raises(Refused, match="approved it last"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)
    assert not Remembered.objects.exists()


def test_it_has_to_be_said_within_a_quarter_of_an_hour(
    operator: Member, approver: Member, server: Server
) -> None:
    gate = approved(operator, server, approver)
    late = LATER + timedelta(minutes=15, seconds=1)
    assert not remembered.can_still_leave(gate, approver, late)
    with pytest.raises(Refused, match="just now"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=late)
    assert remembered.remember(
        gate.pk, member=approver, scope=SAME, now=late - timedelta(seconds=1)
    )


@pytest.mark.parametrize("hours", [0, -1, 721])
def test_it_is_for_an_hour_to_thirty_days(
    operator: Member, approver: Member, server: Server, hours: int
) -> None:
    gate = approved(operator, server, approver)
    with pytest.raises(Refused, match="1 to 720 hours"):
        remembered.remember(gate.pk, member=approver, scope=replace(SAME, hours=hours), now=LATER)


def test_what_a_service_started_is_remembered_for_the_team_and_counts_for_services_too(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    gate = approved(operator, server, approver)
    Operation.objects.update(started_by=None)
    with pytest.raises(Refused, match="A service started this"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)
    remembered.remember(gate.pk, member=approver, scope=TEAM, now=LATER)
    assert not asks(operator, call)
    assert foresee(server, "deploy_project", ARGUMENTS, None, NOW).by is not None


def test_what_the_maker_of_a_token_approved_counts_for_others_and_not_for_that_service(
    operator: Member, server: Server, join: Join
) -> None:
    maker = join(Role.ADMIN)
    left(operator, server, maker, scope=TEAM, ask={"four_eyes": True})
    for created_by, asks_first in ((maker.user, True), (join(Role.ADMIN).user, False)):
        token, _ = a_token(operator.team, name=f"bot of {created_by}", created_by=created_by)
        foreseen = foresee(server, "deploy_project", ARGUMENTS, None, NOW, token)
        assert (foreseen.by is None) is asks_first
        actor = Actor.by_token(token)
        assert asks(operator, {"arguments": ARGUMENTS, "server": server}, actor=actor) is asks_first


def test_one_approval_is_remembered_once(
    operator: Member, approver: Member, server: Server
) -> None:
    one = left(operator, server, approver)
    assert one.approval_id is not None
    with pytest.raises(Refused, match="already"):
        remembered.remember(one.approval_id, member=approver, scope=ANY, now=LATER)
    assert Remembered.objects.count() == 1


def test_whoever_lost_the_role_or_left_has_nothing_remembered(
    operator: Member, approver: Member, server: Server
) -> None:
    gate = approved(operator, server, approver)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    with pytest.raises(Refused, match="Only whoever"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)
    User.objects.filter(pk=approver.user_id).update(is_active=False)
    with pytest.raises(Refused, match="no such item"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)


def test_an_item_of_another_team_does_not_exist(
    operator: Member, approver: Member, server: Server
) -> None:
    gate = approved(operator, server, approver)
    stranger = Member(approver.user, ServerFactory().team, Role.APPROVER)
    with pytest.raises(Refused, match="no such item"):
        remembered.remember(gate.pk, member=stranger, scope=SAME, now=LATER)


# --- using one


def test_the_same_call_again_runs_without_asking_and_each_use_is_counted_and_told(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    one = left(operator, server, approver)
    assert not asks(operator, call)
    assert not asks(operator, call)
    one.refresh_from_db()
    assert (one.uses, one.last_used_at) == (2, NOW)
    event = Event.objects.filter(kind="remembered.used").latest("id")
    assert (event.data["remembered"], event.data["person"]) == (one.pk, str(approver.user))
    assert Operation.objects.get(pk=event.operation_id).state == State.READY


@pytest.mark.parametrize("other", [{"project": "api", "n": 2}, {"project": "api", "n": True}, {}])
def test_other_arguments_ask_unless_any_were_meant(
    operator: Member,
    approver: Member,
    server: Server,
    call: dict[str, Any],
    other: dict[str, Any],
) -> None:
    one = left(operator, server, approver)
    assert asks(operator, call, arguments=other)
    Remembered.objects.filter(pk=one.pk).update(arguments_digest="")
    assert not asks(operator, call, arguments=other)


def test_the_order_of_names_makes_no_other_arguments(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, approver)
    assert not asks(operator, call, arguments=dict(reversed(ARGUMENTS.items())))


def test_another_tool_or_server_asks(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, approver, scope=replace(ANY, whole_team=True))
    assert asks(operator, call, tool="deploy_projects")
    assert asks(operator, call, server=ServerFactory(team=operator.team, name="other"))


def test_another_person_asks_unless_the_team_was_meant(
    operator: Member, approver: Member, server: Server, call: dict[str, Any], join: Join
) -> None:
    one = left(operator, server, approver)
    other = join(Role.OPERATOR)
    assert asks(other, call)
    Remembered.objects.filter(pk=one.pk).update(starter=None)
    assert not asks(other, call)


def test_it_ends_by_itself(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    one = left(operator, server, approver)
    Remembered.objects.filter(pk=one.pk).update(ends_at=NOW)
    assert asks(operator, call)
    Remembered.objects.filter(pk=one.pk).update(ends_at=NOW + timedelta(microseconds=1))
    assert not asks(operator, call)


@pytest.mark.parametrize(
    "today",
    [
        {"ask": {"remember": False}},
        {"ask": {}},
        {"ask": {"remember": True, "quorum": 2}},
        {"ask": {"remember": True, "audience": "admins"}},
        {"ask": {"remember": "yes"}},
        {"effect": "disabled"},
        {"enabled": False},
        {"name": "another rule"},
        {"match": {"tool": 7}},
    ],
)
def test_the_rule_of_today_decides_whether_it_still_counts(
    operator: Member,
    approver: Member,
    server: Server,
    call: dict[str, Any],
    today: dict[str, Any],
) -> None:
    left(operator, server, approver)
    rows = PolicyRule.objects.all()
    for row in rows:
        for column, value in today.items():
            setattr(row, column, value)
        row.save()
    made = request(operator, **call)
    assert not isinstance(made, Requested) or made.by is None
    assert not Event.objects.filter(kind="remembered.used").exists()
    assert Remembered.objects.get().uses == 0


def test_a_rule_in_front_that_asks_without_remembering_counts_first(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, approver)
    strict = rule(operator.team, ask={})
    PolicyRule.objects.filter(pk=strict.pk).update(position=0)
    assert asks(operator, call)


def test_under_four_eyes_nobody_starts_by_their_own_approval(
    operator: Member, server: Server, call: dict[str, Any], join: Join
) -> None:
    admin = join(Role.ADMIN)
    left(operator, server, admin, scope=TEAM)
    assert asks(admin, call)
    assert not asks(operator, call)


def test_under_four_eyes_the_votes_of_whoever_starts_do_not_count_for_the_quorum(
    operator: Member, approver: Member, server: Server, call: dict[str, Any], join: Join
) -> None:
    admin = join(Role.ADMIN)
    left(operator, server, admin, approver, scope=TEAM, ask={"quorum": 2})
    assert asks(admin, call)
    assert not asks(operator, call)


def test_under_four_eyes_whoever_had_it_remembered_starts_nothing_by_it_though_others_are_enough(
    operator: Member, approver: Member, server: Server, call: dict[str, Any], join: Join
) -> None:
    admin, other = join(Role.ADMIN), join(Role.OPERATOR)
    left(operator, server, approver, admin, scope=TEAM, ask={"quorum": 2})
    PolicyRule.objects.update(ask=ASK)
    assert asks(admin, call)
    assert not asks(other, call)


def test_without_four_eyes_whoever_approved_their_own_call_may_start_it_again(
    operator: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, operator, ask={"four_eyes": False, "audience": "requester"})
    assert not asks(operator, call)
    PolicyRule.objects.update(ask={**ASK, "four_eyes": True})
    assert asks(operator, call)


def test_those_who_approved_must_have_the_right_to_still(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, approver)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    assert asks(operator, call)
    Membership.objects.filter(user=approver.user).update(role=Role.APPROVER)
    assert not asks(operator, call)
    User.objects.filter(pk=approver.user_id).update(is_active=False)
    assert asks(operator, call)


def test_it_is_nothing_without_the_item_it_came_from(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    one = left(operator, server, approver)
    Remembered.objects.filter(pk=one.pk).update(approval=None)
    assert asks(operator, call)


def test_the_same_request_again_is_no_use(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, approver)
    for _ in range(2):
        request(operator, **call, idempotency_key="k")
    assert Remembered.objects.get().uses == 1
    assert Event.objects.filter(kind="remembered.used").count() == 1


def test_a_try_says_that_nobody_would_be_asked_and_uses_nothing(
    operator: Member, approver: Member, server: Server
) -> None:
    left(operator, server, approver)
    found = foresee(server, "deploy_project", ARGUMENTS, operator.user, NOW)
    assert found.would.startswith("run at once: rule 1 (")
    assert f"{approver.user} has approved such calls before" in found.would
    assert Remembered.objects.get().uses == 0


# --- taking one back


def test_taken_back_it_counts_no_more_and_the_log_says_who_did(
    operator: Member, approver: Member, server: Server, call: dict[str, Any], join: Join
) -> None:
    one, admin = left(operator, server, approver), join(Role.ADMIN)
    remembered.revoke(one.pk, member=admin, now=LATER)
    assert asks(operator, call)
    one.refresh_from_db()
    assert (one.revoked_by, one.revoked_at) == (admin.user, LATER)
    event = Event.objects.get(kind="remembered.revoked")
    assert (event.actor, event.data["person"]) == (admin.user, str(approver.user))


def test_taking_it_back_twice_keeps_who_was_first(
    operator: Member, approver: Member, server: Server, join: Join
) -> None:
    one = left(operator, server, approver)
    remembered.revoke(one.pk, member=approver, now=LATER)
    again = remembered.revoke(one.pk, member=join(Role.ADMIN), now=LATER + timedelta(hours=1))
    assert again.revoked_by == approver.user
    assert Event.objects.filter(kind="remembered.revoked").count() == 1


def test_whoever_made_it_takes_it_back_whatever_their_role_is_by_now(
    operator: Member, approver: Member, server: Server
) -> None:
    one = left(operator, server, approver)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    assert remembered.revoke(one.pk, member=approver, now=LATER).revoked_at == LATER


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_nobody_else_takes_it_back(
    operator: Member, approver: Member, server: Server, join: Join, role: Role
) -> None:
    one = left(operator, server, approver)
    with pytest.raises(Refused, match="Only an admin"):
        remembered.revoke(one.pk, member=join(role), now=LATER)
    one.refresh_from_db()
    assert one.revoked_at is None


def test_a_role_of_the_page_that_is_not_theirs_any_more_takes_nothing_back(
    operator: Member, approver: Member, server: Server, join: Join
) -> None:
    one, admin = left(operator, server, approver), join(Role.ADMIN)
    Membership.objects.filter(user=admin.user).update(role=Role.OPERATOR)
    with pytest.raises(Refused, match="Only an admin"):
        remembered.revoke(one.pk, member=admin, now=LATER)


def test_another_teams_does_not_exist(operator: Member, approver: Member, server: Server) -> None:
    one = left(operator, server, approver)
    team = ServerFactory().team
    Membership.objects.create(team=team, user=approver.user, role=Role.ADMIN)
    stranger = access.member_in(approver.user, team.pk)
    assert stranger is not None
    with pytest.raises(Refused, match="no such remembered approval"):
        remembered.revoke(one.pk, member=stranger, now=LATER)


def test_all_of_a_server_end_when_it_comes_to_be_called_as_somebody_else(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    one = left(operator, server, approver)
    remembered.end_for_server(ServerFactory(team=operator.team, name="other").pk, LATER)
    assert not asks(operator, call)
    remembered.end_for_server(server.pk, LATER)
    remembered.end_for_server(server.pk, LATER + timedelta(minutes=1))
    assert asks(operator, call)
    one.refresh_from_db()
    assert (one.revoked_at, one.revoked_by) == (LATER, None)
    assert Event.objects.get(kind="remembered.revoked").actor_name == "The desk"


def _renamed(server: Server, now: datetime) -> None:
    """An admin has the server called as somebody else."""
    change_server(
        server.pk, **{**as_it_is(server), "identity": "root"}, actor=an_admin(server.team), now=now
    )


def test_nothing_is_run_as_somebody_else_by_what_was_remembered_before(
    operator: Member, approver: Member, server: Server, call: dict[str, Any]
) -> None:
    left(operator, server, approver)
    assert not asks(operator, call)
    _renamed(server, LATER)
    assert asks(operator, call)


def test_what_was_approved_in_one_name_is_not_remembered_for_another(
    operator: Member, approver: Member, server: Server
) -> None:
    gate = approved(operator, server, approver)
    _renamed(server, LATER)
    with pytest.raises(Refused, match="just now"):
        remembered.remember(gate.pk, member=approver, scope=SAME, now=LATER)
    assert not remembered.can_still_leave(Approval.objects.get(pk=gate.pk), approver, LATER)


def test_what_is_in_force_and_what_is_over_are_two_lists(
    operator: Member, approver: Member, server: Server
) -> None:
    def lists(now: datetime) -> tuple[int, int]:
        team = operator.team_id
        return (remembered.in_force(team, now).count(), remembered.over(team, now).count())

    one = left(operator, server, approver)
    assert lists(LATER) == (1, 0)
    assert lists(one.ends_at) == (0, 1)
    remembered.revoke(one.pk, member=approver, now=LATER)
    assert lists(LATER) == (0, 1)
