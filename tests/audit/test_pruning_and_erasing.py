"""What may go: old batches as a whole, and the names of a person. The chain stays whole."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit import erasing, pruning, verifying
from mcpdesk.audit.canonical import commitment
from mcpdesk.audit.erasing import erase_names
from mcpdesk.audit.findings import Fault
from mcpdesk.audit.lines import Salts, salts
from mcpdesk.audit.log import DESK, record
from mcpdesk.audit.models import Event, LegalHold, Seal
from mcpdesk.audit.pruning import prunable, prune
from mcpdesk.audit.verifying import steps
from tests.audit.conftest import Happen, attack, seal
from tests.audit.test_verifying import findings
from tests.factories import NOW, OperationFactory, TeamFactory

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


@pytest.fixture
def days(team: Team, happen: Happen) -> list[list[Event]]:
    """Three days, sealed one by one."""
    made = []
    for day in range(3):
        made.append(happen(2, at=NOW + day * DAY))
        seal(NOW + day * DAY + timedelta(minutes=1))
    return made


class TestPruning:
    def test_whole_batches_go_from_the_oldest_on(self, team: Team, days: list[list[Event]]) -> None:
        assert prune(team, NOW + 1.5 * DAY, NOW) == 4
        assert list(Event.objects.order_by("id")) == days[2]
        assert list(Seal.objects.order_by("number").values_list("pruned_at", flat=True)) == [
            NOW,
            NOW,
            None,
        ]

    def test_what_is_left_is_whole_and_says_what_went(
        self, team: Team, days: list[list[Event]]
    ) -> None:
        prune(team, NOW + 1.5 * DAY, NOW)
        (step,) = steps(team.pk)
        assert (step.findings, step.place.pruned, step.place.events) == ([], 2, 2)

    def test_a_second_time_nothing_goes(self, team: Team, days: list[list[Event]]) -> None:
        prune(team, NOW + 1.5 * DAY)
        assert prune(team, NOW + 1.5 * DAY) == 0

    def test_a_batch_that_is_not_old_enough_as_a_whole_stays(
        self, team: Team, days: list[list[Event]]
    ) -> None:
        assert prune(team, days[0][1].at) == 0

    def test_another_teams_log_stays(self, team: Team, happen: Happen) -> None:
        happen(2, of=TeamFactory())
        seal()
        assert prune(team, NOW + DAY) == 0
        assert Event.objects.count() == 2

    def test_what_is_not_sealed_stays(self, team: Team, happen: Happen) -> None:
        happen(2)
        assert prune(team, NOW + DAY) == 0

    def test_under_a_legal_hold_of_the_team_nothing_goes(
        self, team: Team, nina: User, days: list[list[Event]]
    ) -> None:
        hold = LegalHold.objects.create(team=team, reason="court", since=NOW, begun_by=nina)
        assert prune(team, NOW + 9 * DAY) == 0
        hold.ended_at = NOW
        hold.save()
        assert prunable(team, NOW + 9 * DAY).count() == 3

    def test_events_of_a_held_operation_stay_and_all_after_them(
        self, team: Team, nina: User, days: list[list[Event]]
    ) -> None:
        operation = OperationFactory(server__team=team)
        with transaction.atomic():
            held = {"operation_id": operation.pk, "team_id": team.pk}
            record("approval.snoozed", actor=DESK, now=NOW + 4 * DAY, **held)
        seal()
        LegalHold.objects.create(
            team=team, operation_id=operation.pk, reason="court", since=NOW, begun_by=nina
        )
        assert prune(team, NOW + 9 * DAY) == 6

    def test_it_waits_for_no_sealer(
        self, team: Team, days: list[list[Event]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pruning, "have_chain", lambda team_id: False)
        with pytest.raises(Refused, match="being sealed"):
            prune(team, NOW + 9 * DAY)
        assert Event.objects.count() == 6

    def test_an_attacker_who_only_says_that_events_were_pruned_is_named(
        self, team: Team, days: list[list[Event]]
    ) -> None:
        attack("DELETE FROM audit_event WHERE id <= %s", days[0][1].pk)
        mark = "UPDATE audit_seal SET pruned_at = now(), pruned_signature = signature"
        attack(f"{mark} WHERE number = 1")
        assert [(f.fault, f.seal) for f in findings(team)] == [(Fault.SEAL_CHANGED, 1)]

    def test_events_that_came_back_are_named(self, team: Team, days: list[list[Event]]) -> None:
        prune(team, NOW + 0.5 * DAY)
        attack("UPDATE audit_event SET id = %s WHERE id = %s", days[0][0].pk, days[1][0].pk)
        found = [(f.fault, f.event_id) for f in findings(team)]
        assert found == [(Fault.ADDED, days[0][0].pk), (Fault.MISSING, days[1][0].pk)]


class TestErasing:
    def test_a_persons_names_become_commitments_everywhere(
        self, team: Team, nina: User, happen: Happen
    ) -> None:
        salt = nina.log_salt
        assert salt is not None
        with transaction.atomic():
            record("user.deactivated", team_id=team.pk, actor=DESK, now=NOW, person=nina)
        happen(4)
        assert erase_names(nina) == 3
        everything = json.dumps(list(Event.objects.values("actor_name", "data")))
        assert "Nina" not in everything and "K\\u00f6hler" not in everything
        erased = f"erased:{commitment(salt, 'Nina Köhler')}"
        assert Event.objects.filter(actor_name=erased).count() == 2
        assert Event.objects.filter(data__person=erased).count() == 1
        nina.refresh_from_db()
        assert nina.log_salt is None

    def test_the_names_of_others_stay(self, nina: User, happen: Happen) -> None:
        (event,) = happen()
        erase_names(nina)
        event.refresh_from_db()
        assert event.data["person"] == "Óscar Díaz"

    def test_two_people_of_one_event_go_one_after_the_other(
        self, team: Team, nina: User, happen: Happen
    ) -> None:
        (event,) = happen()
        seal()
        erase_names(nina)
        erase_names(User.objects.get(pk=event.data["person_id"]))
        event.refresh_from_db()
        assert event.actor_name.startswith("erased:")
        assert event.data["person"].startswith("erased:")
        assert findings(team) == []

    def test_the_log_stays_whole_sealed_before_or_after(
        self, team: Team, nina: User, happen: Happen
    ) -> None:
        happen(3)
        seal()
        happen(3)
        erase_names(nina)
        seal()
        assert findings(team) == []
        assert Seal.objects.count() == 2

    def test_a_second_time_nothing_changes(self, nina: User, happen: Happen) -> None:
        happen(3)
        erase_names(nina)
        assert erase_names(nina) == 0

    def test_what_is_written_while_the_log_is_read_is_erased_too(
        self, team: Team, nina: User, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        happen()

        def written_meanwhile() -> None:
            happen()

        monkeypatch.setattr(erasing, "wait_for_writers", written_meanwhile)
        assert erase_names(nina) == 2
        assert not Event.objects.filter(actor_name="Nina Köhler").exists()

    def test_nobody_can_be_erased_halfway(self, team: Team, nina: User, happen: Happen) -> None:
        """A salt that goes alone takes the names' commitments along: each line is named."""
        happen(3)
        seal()
        attack("UPDATE accounts_user SET log_salt = NULL WHERE id = %s", nina.pk)
        assert [f.fault for f in findings(team)] == [Fault.CHANGED]

    def test_a_name_that_is_hidden_without_erasing_the_person_is_named(
        self, team: Team, nina: User, happen: Happen
    ) -> None:
        (event,) = happen()
        seal()
        assert nina.log_salt is not None
        erased = f"erased:{commitment(nina.log_salt, nina.name)}"
        attack("UPDATE audit_event SET actor_name = %s WHERE id = %s", erased, event.pk)
        assert [(f.fault, f.event_id) for f in findings(team)] == [(Fault.CHANGED, event.pk)]


class TestErasingWhileSomebodyVerifies:
    """A verification that has read the salts meets an erasure before it has read the events."""

    @pytest.fixture
    def erasing_in_the_middle(
        self, nina: User, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        happen(4)
        seal()
        with ThreadPoolExecutor(1) as somebody_else:
            begun: list[Future[int]] = []

            def salts_then_an_erasure() -> Salts:
                known = salts()
                begun.append(somebody_else.submit(_erase_and_hang_up, nina))
                _until_it_is_done_or_waits(begun[0])
                return known

            monkeypatch.setattr(verifying, "salts", salts_then_an_erasure)
            yield
            assert begun[0].result(10) == 2

    def test_it_waits_and_the_log_is_whole(self, erasing_in_the_middle: None, team: Team) -> None:
        assert findings(team) == []

    def test_without_the_lock_a_whole_log_is_called_changed(
        self, erasing_in_the_middle: None, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(erasing, "be_alone_with_it", lambda: None)
        assert {found.fault for found in findings(team)} == {Fault.CHANGED}


def _erase_and_hang_up(user: User) -> int:
    try:
        return erase_names(User.objects.get(pk=user.pk))
    finally:
        connection.close()


def _until_it_is_done_or_waits(erasure: "Future[int]") -> None:
    waits = (
        "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
        " WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted)"
    )
    deadline = time.monotonic() + 10
    while not erasure.done():
        with connection.cursor() as cursor:
            cursor.execute(waits)
            if cursor.fetchone()[0]:
                return
        assert time.monotonic() < deadline, "the erasure neither ended nor waited"
