"""Sealing: every event once, in order, also where transactions commit out of order."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.db.models import Max

from mcpdesk.accounts.models import Team
from mcpdesk.audit import locks, sealing
from mcpdesk.audit.chain import BATCH, BEGINNING, unpack
from mcpdesk.audit.log import DESK, record
from mcpdesk.audit.models import Event, Seal
from mcpdesk.audit.sealing import content_of, full_batch_waits, seal_due
from tests.audit.conftest import Happen
from tests.audit.test_verifying import findings
from tests.factories import NOW


def sealed_ids(team: Team) -> list[int]:
    seals = Seal.objects.filter(team=team).order_by("number")
    return [pk for seal in seals for pk, _ in unpack(bytes(seal.lines))]


@pytest.mark.django_db
class TestSealing:
    def test_it_closes_what_has_happened_once(self, team: Team, happen: Happen) -> None:
        happen(3)
        assert seal_due(NOW) == 1
        assert seal_due(NOW) == 0
        happen(2)
        assert seal_due(NOW) == 1
        assert sealed_ids(team) == list(Event.objects.order_by("id").values_list("id", flat=True))

    def test_a_seal_says_what_it_covers(self, team: Team, happen: Happen) -> None:
        events = happen(3)
        seal_due(NOW)
        (seal,) = Seal.objects.filter(team=team)
        assert (seal.number, seal.event_count) == (1, 3)
        assert (seal.first_event_id, seal.last_event_id) == (events[0].pk, events[2].pk)
        assert (seal.earliest_at, seal.latest_at) == (events[0].at, events[2].at)
        assert seal.sealed_at == NOW
        assert bytes(seal.previous) == BEGINNING

    def test_each_holds_the_one_before(self, team: Team, happen: Happen) -> None:
        for _ in range(2):
            happen()
            seal_due(NOW)
        first, second = Seal.objects.filter(team=team).order_by("number")
        assert bytes(second.previous) == content_of(first).digest()

    def test_a_batch_has_at_most_so_many(
        self, team: Team, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sealing, "BATCH", 3)
        happen(2)
        assert not full_batch_waits()
        happen(5)
        assert full_batch_waits()
        assert seal_due(NOW) == 3
        counts = Seal.objects.order_by("number").values_list("event_count", flat=True)
        assert list(counts) == [3, 3, 1]
        assert not full_batch_waits()
        assert findings(team) == []

    def test_one_run_ends_and_the_next_goes_on(
        self, team: Team, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sealing, "BATCH", 1)
        monkeypatch.setattr(sealing, "MOST_IN_A_RUN", 2)
        happen(3)
        assert [seal_due(NOW) for _ in range(3)] == [2, 1, 0]

    def test_a_seal_costs_few_queries(
        self, happen: Happen, django_assert_max_num_queries: Callable[..., object]
    ) -> None:
        happen(50)
        with django_assert_max_num_queries(20):
            seal_due(NOW)


def _writes_and_waits(team: Team, wrote: threading.Event, may_commit: threading.Event) -> int:
    try:
        with transaction.atomic():
            event = record("approval.snoozed", team_id=team.pk, actor=DESK, now=NOW)
            wrote.set()
            assert may_commit.wait(10)
        return event.pk
    finally:
        connection.close()


@contextmanager
def somebody_still_writes(team: Team) -> Iterator[Callable[[], int]]:
    """Somebody has taken an id and not committed; calling what this gives lets them."""
    wrote, may_commit = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(_writes_and_waits, team, wrote, may_commit)
        try:
            assert wrote.wait(10)

            def commit() -> int:
                may_commit.set()
                return late.result()

            yield commit
        finally:
            may_commit.set()


@pytest.mark.django_db(transaction=True)
class TestCommitsOutOfOrder:
    def test_an_event_that_commits_late_is_not_left_out(self, team: Team, happen: Happen) -> None:
        with somebody_still_writes(team) as commit:
            happen(2)
            assert seal_due(NOW) == 0, "the earlier id is still to come"
            late = commit()
        assert seal_due(NOW) == 1
        assert sealed_ids(team)[0] == late
        assert findings(team) == []

    def test_without_the_lock_it_is_left_out(self, team: Team, happen: Happen) -> None:
        """The control: the late event turns up inside what is sealed, as one that was added."""

        def whatever_is_there() -> int:
            return Event.objects.aggregate(last=Max("id"))["last"] or 0

        with somebody_still_writes(team) as commit:
            happen(2)
            assert seal_due(NOW, settled=whatever_is_there) == 1
            late = commit()
        assert seal_due(NOW) == 0
        assert late not in sealed_ids(team)
        assert [(f.fault.value, f.event_id) for f in findings(team)] == [("added", late)]

    def test_the_lock_waits_for_whoever_is_nearly_done(
        self, team: Team, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(locks, "LOCK_MS", 20_000)
        with somebody_still_writes(team) as commit, ThreadPoolExecutor(1) as pool:
            happen()
            sealing_ = pool.submit(_seals)
            _until_somebody_waits()
            late = commit()
            assert sealing_.result() == 1
        assert sealed_ids(team)[0] == late

    def test_two_sealers_make_one_chain(self, team: Team, happen: Happen) -> None:
        happen(30)
        both = threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda _: _seals(both), range(2)))
        assert sum(made) + seal_due(NOW) == 1
        assert Seal.objects.count() == 1
        assert findings(team) == []


def _seals(both: threading.Barrier | None = None) -> int:
    try:
        if both is not None:
            both.wait(10)
        return seal_due(NOW)
    finally:
        connection.close()


def _until_somebody_waits() -> None:
    """Until the sealer stands behind the writer, as PostgreSQL tells."""
    locks_of_it = "SELECT count(*) FROM pg_locks WHERE relation = 'audit_event'::regclass"
    waiting = f"{locks_of_it} AND NOT granted"
    while True:
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return


def test_one_seal_holds_at_most_a_thousand_events() -> None:
    assert BATCH == 1000
