"""Verification that goes on by itself, and what admins hear when something is wrong."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from mcpdesk.accounts.models import Team
from mcpdesk.audit import pace, passes, tasks, verifying
from mcpdesk.audit.models import Event, Verification
from mcpdesk.audit.passes import begin_again, go_on, verify_further
from mcpdesk.audit.verifying import Place, Step
from mcpdesk.notify.models import Alert
from tasks_monitor.engine.heartbeat import beat
from tasks_monitor.management.commands import clock
from tests.audit.conftest import Happen, attack, seal
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def at(now: datetime) -> Callable[[], datetime]:
    return lambda: now


@pytest.fixture
def log(happen: Happen) -> list[int]:
    """Three seals of one event each; the events' ids."""
    for minute in range(3):
        happen(at=NOW + minute * MINUTE)
        seal(NOW + minute * MINUTE)
    return list(Event.objects.order_by("id").values_list("id", flat=True))


def row(team: Team) -> Verification:
    return Verification.objects.get(team=team)


def test_a_whole_log_is_verified_up_to_its_last_seal(log: list[int], team: Team) -> None:
    go_on(at(NOW + DAY))
    found = row(team)
    assert (found.verified_number, found.verified_to) == (3, NOW + 2 * MINUTE)
    assert (found.verified_at, found.finished_at) == (NOW + DAY, NOW + DAY)
    assert (found.events, found.finding) == (3, "")


def test_a_new_seal_is_verified_alone(
    log: list[int], team: Team, happen: Happen, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on(at(NOW))
    happen()
    seal(NOW + 9 * MINUTE)
    places: list[int] = []
    step = passes.next_step

    def seen(team_id: int, place: Place) -> Step:
        places.append(place.number)
        return step(team_id, place)

    monkeypatch.setattr(passes, "next_step", seen)
    go_on(at(NOW + 9 * MINUTE))
    assert places == [3]
    assert row(team).verified_to == NOW + 9 * MINUTE
    assert row(team).events == 4


def test_where_nothing_is_new_nothing_is_done(
    log: list[int], team: Team, django_assert_num_queries: Callable[..., object]
) -> None:
    go_on(at(NOW))
    with django_assert_num_queries(1):
        go_on(at(NOW))


def test_after_a_day_it_begins_again(log: list[int], team: Team) -> None:
    go_on(at(NOW))
    attack("DELETE FROM audit_event WHERE id = %s", log[0])
    go_on(at(NOW + DAY - MINUTE))
    assert row(team).findings == 0
    go_on(at(NOW + DAY))
    assert row(team).finding == f"Event {log[0]} (seal 1): it is missing"


def test_whoever_asks_has_it_begin_now(log: list[int], team: Team) -> None:
    go_on(at(NOW))
    begin_again(team.pk, NOW + MINUTE)
    assert passes.anything_due()
    assert row(team).verified_number == 3, "what was known stays known meanwhile"
    go_on(at(NOW + 2 * MINUTE))
    assert row(team).begun_at == NOW + MINUTE
    assert not passes.anything_due()


def test_one_run_stops_and_the_next_goes_on(
    log: list[int], team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = verifying.next_step
    monkeypatch.setattr(passes, "next_step", lambda team_id, place: step(team_id, place, 1))
    go_on(at(NOW), run_s=0)
    assert (row(team).number, row(team).finished_at) == (1, None)
    while verify_further(team.pk, NOW + MINUTE):
        pass
    assert (row(team).number, row(team).finished_at) == (3, NOW + MINUTE)
    assert row(team).events == 3


def test_the_admins_are_alerted_of_the_first_line_that_is_wrong(log: list[int], team: Team) -> None:
    attack("UPDATE audit_event SET channel = 'api' WHERE id IN (%s, %s)", log[1], log[2])
    go_on(at(NOW))
    alert = Alert.objects.get(team=team)
    assert f"Event {log[1]}" in alert.sentence
    assert row(team).findings == 2
    assert row(team).verified_number == 0


def test_what_was_found_is_said_until_a_pass_ends_without_it(log: list[int], team: Team) -> None:
    attack("UPDATE audit_event SET channel = 'api' WHERE id = %s", log[1])
    go_on(at(NOW))
    attack("UPDATE audit_event SET channel = 'web' WHERE id = %s", log[1])
    begin_again(team.pk, NOW + MINUTE)
    assert row(team).finding
    go_on(at(NOW + MINUTE))
    assert (row(team).finding, row(team).verified_number) == ("", 3)


def test_a_log_that_lost_its_end_is_noticed(log: list[int], team: Team) -> None:
    go_on(at(NOW))
    attack("DELETE FROM audit_seal WHERE number = 3")
    attack("DELETE FROM audit_event WHERE id = %s", log[2])
    begin_again(team.pk, NOW)
    go_on(at(NOW + MINUTE))
    assert "truncated" in row(team).finding


def test_a_log_that_lost_everything_is_noticed(log: list[int], team: Team) -> None:
    go_on(at(NOW))
    attack("DELETE FROM audit_seal")
    attack("DELETE FROM audit_event")
    go_on(at(NOW + DAY))
    assert "truncated" in row(team).finding


def test_a_log_whose_end_was_replaced_is_noticed(
    log: list[int], team: Team, happen: Happen
) -> None:
    go_on(at(NOW))
    attack("DELETE FROM audit_seal WHERE number = 3")
    attack("DELETE FROM audit_event WHERE id = %s", log[2])
    happen()
    seal(NOW)
    begin_again(team.pk, NOW)
    go_on(at(NOW + MINUTE))
    assert "replaced" in row(team).finding


def test_each_team_has_its_own(log: list[int], team: Team, happen: Happen) -> None:
    other = TeamFactory()
    happen(of=other)
    seal()
    attack("DELETE FROM audit_event WHERE id = %s", log[0])
    go_on(at(NOW))
    assert (row(team).findings, row(other).findings) == (1, 0)


class TestPace:
    def test_it_is_time_once_a_minute(self) -> None:
        beat = pace.Pace()
        times = [second for second in range(150) if beat.is_time(float(second))]
        assert times == [0, 60, 120]

    def test_a_full_batch_does_not_wait(
        self, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcpdesk.audit.sealing.BATCH", 2)
        beat = pace.Pace()
        assert beat.is_time(0.0)
        happen(2)
        assert [beat.is_time(second) for second in (4.0, 5.0)] == [False, True]

    def test_a_pass_that_is_under_way_does_not_wait(self, team: Team) -> None:
        beat = pace.Pace()
        assert beat.is_time(0.0)
        begin_again(team.pk, NOW)
        assert beat.is_time(5.0)


def test_the_clock_rings_for_the_log_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(clock, "ring_task", lambda name, *_: rung.append(name))
    monkeypatch.setattr(clock, "ring", lambda *_: None)
    process = clock.Clock()
    for second in (0, 30, 61):
        beat("worker", NOW + timedelta(seconds=second))
        process.tick(NOW + timedelta(seconds=second), float(second))
    assert rung.count(clock.SEAL) == 2


def test_the_task_seals_and_verifies(happen: Happen, team: Team) -> None:
    happen(3)
    tasks.seal()
    assert row(team).verified_number == 1
    assert row(team).events == 3
