"""What operations and items are found by: all that was said, by those who may read it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import transaction

from approvals import history as approval_history
from approvals import words as item_words
from approvals.history_filters import ApprovalFilters
from approvals.models import Approval, Choice
from approvals.rebuild import rebuild
from approvals.votes import Turn, cast
from mcpdesk import blind
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK, Actor
from mcpdesk.mcp.inputs import InputRequest as Asked
from tasks_monitor import history as operation_history
from tasks_monitor.engine import start, words
from tasks_monitor.engine.questions import sync_round
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.history_filters import OperationFilters
from tasks_monitor.models import HistoryEntry, InputRequest, Operation, Payload, Server
from tasks_monitor.states import State
from tests.api.calling import Caller, a_token
from tests.factories import NOW, AbsenceFactory, ApprovalFactory, MembershipFactory, form_params
from tests.history.conftest import Join

pytestmark = pytest.mark.django_db


@pytest.fixture
def operation(server: Server, join: Join) -> Operation:
    """It was started for a reason, asked something, and a colleague answered, for a reason."""
    made = start.start(
        team_id=server.team_id,
        server_id=server.pk,
        tool_name="deploy_project",
        arguments={"secret": "argument"},
        actor=Actor.person(join(Role.OPERATOR)),
        now=NOW,
        reason="Ticket 4711",
    ).operation
    params = form_params("Überschreiben der Datenbank?")
    asked = Asked(
        key="k", method="elicitation/create", params=params, fingerprint="f", problem=None
    )
    with transaction.atomic():
        sync_round(made, [asked], 1, NOW)
    return made


@pytest.fixture
def item(operation: Operation, join: Join) -> Approval:
    request = InputRequest.objects.get(operation=operation)
    approval: Approval = ApprovalFactory(input_request=request, operation=operation)
    member = join(Role.APPROVER)
    with transaction.atomic():
        cast(Turn(approval, member, Actor.person(member), NOW), Choice.ACCEPT, "Agreed by phone")
    return approval


def _operations(member: Member, text: str, **more: str) -> list[Any]:
    filters = OperationFilters.read({"text": text, **more})
    return [one.pk for one in operation_history.page(member, filters).rows]


def _approvals(member: Member, text: str) -> list[Any]:
    return [
        one.pk for one in approval_history.page(member, ApprovalFilters.read({"text": text})).rows
    ]


@pytest.mark.parametrize(
    "text",
    ["deploy", "DEPLOY_project", "4711 ticket", "überschreiben DATENBANK", "phone agreed", "{id}"],
)
def test_an_operation_is_found_by_what_was_said_of_it(
    operation: Operation, item: Approval, auditor: Member, text: str
) -> None:
    wanted = text.format(id=str(operation.pk)[:8])
    assert _operations(auditor, wanted) == [operation.pk]
    assert _operations(auditor, f"{wanted} elsewhere") == []


def test_an_operation_is_found_by_why_it_ended(operation: Operation, auditor: Member) -> None:
    with transaction.atomic():
        move(lock(operation.pk), State.CANCELLED, now=NOW, actor=DESK, reason="Nobody wants it now")
    assert _operations(auditor, "nobody wants") == [operation.pk]


def test_arguments_are_not_searched(operation: Operation, auditor: Member) -> None:
    assert _operations(auditor, "argument") == []


def test_an_item_is_found_by_the_reason_of_a_vote(item: Approval, auditor: Member) -> None:
    assert _approvals(auditor, "agreed phone") == [item.pk]


@pytest.mark.parametrize("anew", [False, True])
def test_a_server_that_says_much_hides_nobody_who_decided(
    operation: Operation, join: Join, auditor: Member, anew: bool
) -> None:
    params = form_params(" ".join(f"word{number}" for number in range(300)))
    asked = Asked(
        key="k2", method="elicitation/create", params=params, fingerprint="g", problem=None
    )
    with transaction.atomic():
        sync_round(operation, [asked], 2, NOW)
    request = InputRequest.objects.get(operation=operation, round=2)
    new = item_words.of_new(operation, request)
    approval = ApprovalFactory(input_request=request, operation=operation, words=new["words"])
    deciders = [join(Role.APPROVER) for _ in range(3)]
    for member in deciders:
        with transaction.atomic():
            turn = Turn(approval, member, Actor.person(member), NOW)
            cast(turn, Choice.ACCEPT, " ".join(f"because{n}" for n in range(150)))
    if anew:
        rebuild([operation.pk])
    for member in deciders:
        person = {"decided_by": str(member.user_id)}
        assert _operations(auditor, "", **person) == [operation.pk]
        filters = ApprovalFilters.read(person)
        assert approval_history.page(auditor, filters).rows == [approval]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER])
def test_what_a_person_may_not_read_finds_nothing_for_them(
    operation: Operation, item: Approval, join: Join, role: Role
) -> None:
    Approval.objects.update(audience="people")
    member = join(role)
    assert _operations(member, "datenbank") == _operations(member, "phone") == []
    assert _approvals(member, "phone") == []
    # what everybody may read finds it for everybody
    assert _operations(member, "ticket") == [operation.pk]
    HistoryEntry.objects.update(started_by=member.user)
    assert _operations(member, "datenbank ticket") == [operation.pk]


def _through_the_api(member: Member, text: str) -> list[str]:
    caller = Caller(*a_token(member.team, member.user))
    return [row["id"] for row in caller.get("/operations", text=text).json()["items"]]


def test_an_approver_finds_by_what_was_said_exactly_what_they_may_read(
    operation: Operation, item: Approval, join: Join
) -> None:
    approver, viewer = join(Role.APPROVER), join(Role.VIEWER)
    for text in ("datenbank", "phone", "datenbank ticket"):
        assert _through_the_api(approver, text) == [str(operation.pk)]
        assert _through_the_api(viewer, text) == []
    # put to others alone, it is not theirs to read, nor to find
    Approval.objects.update(audience="people")
    assert _through_the_api(approver, "datenbank") == []
    item.people.add(approver.user, viewer.user)
    assert _through_the_api(approver, "datenbank") == [str(operation.pk)]
    assert _through_the_api(viewer, "datenbank") == []
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    assert _through_the_api(approver, "datenbank") == []


def test_who_started_it_under_four_eyes_and_a_stand_in_find_it_as_they_may_read_it(
    operation: Operation, item: Approval, join: Join
) -> None:
    Approval.objects.update(audience="people", four_eyes=True)
    away, stand_in = join(Role.APPROVER), join(Role.APPROVER)
    item.people.add(away.user)
    assert _through_the_api(stand_in, "datenbank") == []
    ends_at = datetime(2099, 1, 1, tzinfo=UTC)
    AbsenceFactory(team=away.team, user=away.user, stand_in=stand_in.user, ends_at=ends_at)
    assert _through_the_api(stand_in, "datenbank") == [str(operation.pk)]
    HistoryEntry.objects.update(started_by=stand_in.user)
    Operation.objects.update(started_by=stand_in.user)
    assert _through_the_api(stand_in, "datenbank") == [str(operation.pk)]


@pytest.mark.usefixtures("item")
def test_what_another_teams_approver_looks_for_is_nowhere(operation: Operation) -> None:
    stranger = MembershipFactory(role=Role.APPROVER)
    caller = Caller(*a_token(stranger.team, stranger.user))
    for text in ("datenbank", "ticket"):
        assert caller.get("/operations", text=text).json()["items"] == []


def test_a_service_finds_by_what_was_said_what_it_started(
    operation: Operation, server: Server
) -> None:
    mine, theirs = (a_token(server.team, name=name) for name in ("bot", "other-bot"))
    Operation.objects.update(token=mine[0], started_by=None)
    HistoryEntry.objects.update(started_by=None)
    found = [Caller(*one).get("/operations", text="datenbank").json() for one in (mine, theirs)]
    assert [[row["id"] for row in one["items"]] for one in found] == [[str(operation.pk)], []]


def test_when_the_payload_is_gone_its_words_are_gone(
    operation: Operation, item: Approval, auditor: Member
) -> None:
    InputRequest.objects.update(params=None)
    item.votes.update(reason=None)
    Payload.objects.all().delete()
    rebuild([operation.pk])
    assert _operations(auditor, "datenbank") == _operations(auditor, "phone") == []
    assert _approvals(auditor, "phone") == []
    voter = item.votes.get().user_id
    assert _operations(auditor, "ticket", decided_by=str(voter)) == [operation.pk]


@pytest.mark.usefixtures("item")
def test_rebuilt_words_are_those_that_were_written(
    operation: Operation, auditor: Member, settings: Any
) -> None:
    with transaction.atomic():
        move(lock(operation.pk), State.CANCELLED, now=NOW, actor=DESK, reason="Nobody wants it now")
    before = set(HistoryEntry.objects.get(pk=operation.pk).words)
    call_command("rebuild_words", verbosity=0)
    assert set(HistoryEntry.objects.get(pk=operation.pk).words) == before
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    call_command("rebuild_words", verbosity=0)
    assert not set(HistoryEntry.objects.get(pk=operation.pk).words) & before
    assert _operations(auditor, "datenbank") == [operation.pk]


def test_a_talkative_server_gets_no_more_than_its_share(operation: Operation) -> None:
    for number in range(30):
        words.say(operation, " ".join(f"w{number}x{n}" for n in range(20)))
    line = HistoryEntry.objects.get(pk=operation.pk)
    assert len(line.words) == blind.MAX_NUMBERS
    assert set(words.of_new(operation)) <= set(line.words)
