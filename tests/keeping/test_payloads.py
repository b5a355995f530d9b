"""Retention of payloads: what goes, what stays, and that nothing of it is left anywhere."""

from datetime import timedelta

import pytest
from django.core.management import call_command

from approvals.models import Approval, ApprovalState
from mcpdesk import blind
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Team
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from mcpdesk.audit.sealing import seal_due
from mcpdesk.keeping import holds, payloads, runs, settings
from mcpdesk.keeping.due import going
from mcpdesk.keeping.settings import Kept
from mcpdesk.notify.models import Message, MessageState
from tasks_monitor.models import Operation, Payload, Repair, RepairState
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State
from tests.engine.conftest import an_admin
from tests.factories import NOW, OperationFactory, TeamFactory
from tests.keeping.full import (
    MARK,
    encrypted_fields,
    full_operation,
    holding,
    message,
    numbers_of,
)

pytestmark = pytest.mark.django_db(transaction=True)

DAYS = 30
LATER = NOW + timedelta(days=DAYS + 1)


@pytest.fixture
def kept(team: Team, actor: Actor) -> Kept:
    kept = Kept(payload_days=DAYS)
    settings.change(team, kept, actor=actor, now=NOW)
    return kept


@pytest.fixture
def operation(team: Team, admin: Member) -> Operation:
    return full_operation(team, by=admin.user)


class TestWhatGoes:
    def test_every_encrypted_column_is_filled_by_the_operation_of_these_tests(
        self, operation: Operation
    ) -> None:
        """A new one has to be planted in full.py, and put into mcpdesk.keeping.parts."""
        empty = [
            label
            for label, model, column in encrypted_fields()
            if not any(MARK in str(value) for value in model.objects.values_list(column, flat=True))
        ]
        assert empty == []

    def test_nothing_of_it_is_left_in_any_column_of_the_database(
        self, team: Team, kept: Kept, operation: Operation
    ) -> None:
        assert len(holding(MARK)) == 20
        runs.run(team, LATER)
        assert holding(MARK) == []

    def test_it_is_found_by_none_of_its_words_any_more(
        self, team: Team, kept: Kept, admin: Member, operation: Operation
    ) -> None:
        (word,) = blind.open_numbers(team.pk, MARK)
        assert {word, -word} <= numbers_of(operation.pk)
        runs.run(team, LATER)
        left = numbers_of(operation.pk)
        assert not {word, -word} & left
        assert set(blind.open_numbers(team.pk, operation.tool_name)) <= left
        assert blind.mark(team.pk, "decided", admin.user_id) in left

    def test_the_rows_of_lists_links_and_the_log_stay(
        self, team: Team, kept: Kept, admin: Member, operation: Operation
    ) -> None:
        runs.run(team, LATER)
        operation.refresh_from_db()
        approval = Approval.objects.get()
        assert (operation.state, operation.started_by) == (State.COMPLETED, admin.user)
        assert operation.payload_deleted_at == LATER
        assert (approval.state, approval.votes.get().user) == (ApprovalState.DECIDED, admin.user)

    def test_the_event_says_how_many_and_nothing_else(
        self, team: Team, kept: Kept, operation: Operation
    ) -> None:
        runs.run(team, LATER)
        event = Event.objects.get(kind="retention.payloads_deleted")
        assert event.data == {"operations": 1, "rows": 11, "days": DAYS}
        assert event.actor_name == "The clock"

    def test_a_message_that_has_not_left_never_leaves(
        self, team: Team, kept: Kept, operation: Operation
    ) -> None:
        approval = operation.approvals.get()
        message(operation, approval, MARK, state=MessageState.WAITING, next_at=NOW)
        sending = message(operation, approval, MARK, state=MessageState.SENDING, next_at=NOW)
        runs.run(team, LATER)
        sending.refresh_from_db()
        assert sending.unwanted
        states = Message.objects.exclude(pk=sending.pk).values_list("state", flat=True)
        assert set(states) == {MessageState.SENT, MessageState.DROPPED}

    def test_the_chain_of_the_log_is_whole_before_and_after(
        self, team: Team, kept: Kept, operation: Operation
    ) -> None:
        for now in (NOW, LATER):
            seal_due(now)
            with pytest.raises(SystemExit) as ended:
                call_command("verify_audit")
            assert ended.value.code == 0
            runs.run(team, LATER)


class TestWhatStays:
    @pytest.mark.parametrize("state", sorted(frozenset(State) - TERMINAL))
    def test_what_has_not_ended_however_old(
        self, team: Team, kept: Kept, admin: Member, state: State
    ) -> None:
        assert NEEDS_OPERATOR.isdisjoint(TERMINAL)
        full_operation(team, by=admin.user, state=state, ended=None)
        assert runs.run(team, LATER).operations == 0
        assert Payload.objects.get().arguments

    def test_what_ended_later(self, team: Team, kept: Kept, operation: Operation) -> None:
        assert runs.run(team, NOW + timedelta(days=DAYS)).operations == 0
        assert runs.run(team, NOW + timedelta(days=DAYS, seconds=1)).operations == 1

    def test_what_has_an_open_repair(self, team: Team, kept: Kept, operation: Operation) -> None:
        Repair.objects.update(state=RepairState.PROPOSED)
        assert runs.run(team, LATER).operations == 0

    def test_what_belongs_to_a_team_without_a_retention(
        self, team: Team, kept: Kept, admin: Member
    ) -> None:
        full_operation(TeamFactory(), by=admin.user, mark="zqotherqz")
        runs.run_all(LATER)
        assert len(holding("zqotherqz")) == 20

    def test_what_is_under_a_legal_hold_until_that_ends(
        self, team: Team, kept: Kept, actor: Actor, operation: Operation
    ) -> None:
        full_operation(team, by=operation.started_by, mark="zqotherqz")
        hold = holds.begin(team, operation.pk, reason="court", actor=actor, now=NOW)
        before = len(holding(MARK))
        runs.run(team, LATER)
        assert (len(holding(MARK)), holding("zqotherqz")) == (before, [])
        holds.end(hold.pk, team=team, reason="settled", actor=actor, now=LATER)
        runs.run(team, LATER)
        assert holding(MARK) == []

    def test_everything_under_a_hold_of_the_whole_team(
        self, team: Team, kept: Kept, actor: Actor, operation: Operation
    ) -> None:
        holds.begin(team, None, reason="court", actor=actor, now=NOW)
        assert runs.run(team, LATER).operations == 0


class TestRuns:
    def test_a_second_run_finds_nothing_and_says_nothing(
        self, team: Team, kept: Kept, operation: Operation
    ) -> None:
        runs.run(team, LATER)
        assert runs.run(team, LATER) == runs.Ran(0, 0)
        assert Event.objects.filter(kind="retention.payloads_deleted").count() == 1

    def test_one_that_is_cut_short_is_gone_on_with(
        self, team: Team, kept: Kept, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(payloads, "BATCH", 2)
        OperationFactory.create_batch(5, server__team=team, state="failed", finished_at=NOW)
        turns = iter([True, False])
        cut = runs.run(team, LATER, go_on=lambda: next(turns))
        assert cut == runs.Ran(2, 0)
        assert runs.run(team, LATER) == runs.Ran(3, 0)

    def test_the_oldest_go_first(
        self, team: Team, kept: Kept, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(payloads, "BATCH", 1)
        for days in (1, 2, 0):
            ended = NOW - timedelta(days=days)
            OperationFactory(server__team=team, state="failed", finished_at=ended)
        turns = iter([True, False])
        runs.run(team, LATER, go_on=lambda: next(turns))
        gone = Operation.objects.get(payload_deleted_at__isnull=False)
        assert gone.finished_at == NOW - timedelta(days=2)

    def test_a_team_that_fails_stops_no_other(
        self, team: Team, kept: Kept, operation: Operation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = Team.objects.create(name="First", slug="first", pk=-1)
        settings.change(first, kept, actor=an_admin(first), now=NOW)
        run = runs.run

        def fail(team: Team, *args: object, **more: object) -> object:
            if team == first:
                raise RuntimeError("broken")
            return run(team, *args, **more)

        monkeypatch.setattr(runs, "run", fail)
        runs.run_all(LATER)
        assert holding(MARK) == []


class TestDryRun:
    def test_it_says_what_would_go_and_deletes_nothing(
        self, team: Team, operation: Operation
    ) -> None:
        before = len(holding(MARK))
        found = going(team, DAYS, None, LATER).payloads
        assert (found.operations, found.held) == (1, 0)
        assert (found.oldest, found.newest) == (NOW, NOW)
        assert sum(count for _, count in found.kinds) == 11
        assert len(holding(MARK)) == before

    def test_it_counts_exactly_what_then_goes(
        self, team: Team, kept: Kept, operation: Operation
    ) -> None:
        found = going(team, DAYS, None, LATER).payloads
        runs.run(team, LATER)
        event = Event.objects.get(kind="retention.payloads_deleted")
        assert event.data["rows"] == sum(count for _, count in found.kinds)
        assert not going(team, DAYS, None, LATER).anything

    def test_it_says_how_many_a_legal_hold_keeps(
        self, team: Team, actor: Actor, operation: Operation
    ) -> None:
        holds.begin(team, operation.pk, reason="court", actor=actor, now=NOW)
        found = going(team, DAYS, None, LATER).payloads
        assert (found.operations, found.held, found.kinds) == (0, 1, ())
