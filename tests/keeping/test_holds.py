"""Legal holds: who is on record, what is refused, and nobody deletes beside one that begins."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Team
from mcpdesk.audit import legal, pruning
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event, LegalHold
from mcpdesk.audit.sealing import seal_due
from mcpdesk.keeping import holds, payloads
from mcpdesk.keeping.due import deletable
from tasks_monitor.models import Operation
from tests.engine.conftest import an_admin
from tests.engine.racing import locks_off, while_demoted
from tests.factories import NOW, OperationFactory, TeamFactory
from tests.keeping.full import MARK, full_operation, holding

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(days=99)


@pytest.fixture
def operation(team: Team, admin: Member) -> Operation:
    return full_operation(team, by=admin.user)


class TestVerbs:
    def test_beginning_and_ending_are_on_record_without_the_reasons(
        self, team: Team, actor: Actor, operation: Operation
    ) -> None:
        hold = holds.begin(team, operation.pk, reason=" A court asks ", actor=actor, now=NOW)
        ended = holds.end(hold.pk, team=team, reason="Settled", actor=actor, now=LATER)
        assert (ended.reason, ended.begun_by, ended.since) == ("A court asks", actor.user, NOW)
        assert (ended.end_reason, ended.ended_by, ended.ended_at) == ("Settled", actor.user, LATER)
        events = Event.objects.filter(kind__startswith="legal_hold.").order_by("pk")
        assert [(e.kind, e.operation_id, e.data) for e in events] == [
            ("legal_hold.begun", operation.pk, {"scope": "one operation"}),
            ("legal_hold.ended", operation.pk, {"scope": "one operation"}),
        ]

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\0b"])
    def test_neither_goes_without_a_reason(self, team: Team, actor: Actor, reason: str) -> None:
        with pytest.raises(Refused, match="Say why"):
            holds.begin(team, None, reason=reason, actor=actor, now=NOW)
        assert not LegalHold.objects.exists()
        hold = holds.begin(team, None, reason="court", actor=actor, now=NOW)
        with pytest.raises(Refused, match="Say why"):
            holds.end(hold.pk, team=team, reason=reason, actor=actor, now=NOW)
        assert legal.held(team.pk).everything

    def test_the_same_hold_twice_is_refused_and_names_who_began_it(
        self, team: Team, actor: Actor, operation: Operation
    ) -> None:
        holds.begin(team, None, reason="court", actor=actor, now=NOW)
        with pytest.raises(Refused, match="Nina Köhler began"):
            holds.begin(team, None, reason="again", actor=actor, now=NOW)
        holds.begin(team, operation.pk, reason="another matter", actor=actor, now=NOW)
        assert LegalHold.objects.count() == 2

    def test_one_that_is_over_stays_over(self, team: Team, actor: Actor) -> None:
        hold = holds.begin(team, None, reason="court", actor=actor, now=NOW)
        holds.end(hold.pk, team=team, reason="settled", actor=actor, now=NOW)
        with pytest.raises(Refused, match="over already: Nina Köhler"):
            holds.end(hold.pk, team=team, reason="settled", actor=actor, now=LATER)
        assert LegalHold.objects.get().ended_at == NOW

    def test_what_belongs_to_another_team_is_not_there(self, team: Team, actor: Actor) -> None:
        for unknown in (uuid4(), OperationFactory().pk):
            with pytest.raises(Refused, match="no such operation"):
                holds.begin(team, unknown, reason="court", actor=actor, now=NOW)
        hold = holds.begin(team, None, reason="court", actor=actor, now=NOW)
        other = TeamFactory()
        with pytest.raises(LegalHold.DoesNotExist):
            holds.end(hold.pk, team=other, reason="no", actor=an_admin(other), now=NOW)

    def test_only_a_person_begins_one(self, team: Team) -> None:
        with pytest.raises(ValueError, match="a person"):
            holds.begin(team, None, reason="x", actor=Actor(None, "x", "web"), now=NOW)

    def test_an_operation_knows_its_own_hold_and_that_of_its_team(
        self, team: Team, actor: Actor, operation: Operation
    ) -> None:
        other = OperationFactory(server__team=team)
        mine = holds.begin(team, operation.pk, reason="court", actor=actor, now=NOW)
        assert list(holds.of_operation(operation)) == [mine]
        whole = holds.begin(team, None, reason="court", actor=actor, now=LATER)
        assert list(holds.of_operation(other)) == [whole]
        assert list(holds.of_operation(operation)) == [whole, mine]


class TestDemoted:
    """An admin loses the role at the moment at which they begin or end a hold."""

    @pytest.fixture(params=["begin", "end"])
    def verb(self, request: Any, team: Team, actor: Actor) -> Callable[[], LegalHold]:
        who: dict[str, Any] = {"reason": "court", "actor": actor, "now": NOW}
        if request.param == "begin":
            return lambda: holds.begin(team, None, **who)
        hold = holds.begin(team, None, **who)
        return lambda: holds.end(hold.pk, team=team, **who)

    def test_changes_nothing_and_is_told(self, verb: Callable[[], LegalHold]) -> None:
        before = list(LegalHold.objects.values())
        told = while_demoted(Membership.objects.get(), verb)
        assert isinstance(told, PermissionDenied) and "does not allow you" in str(told)
        assert list(LegalHold.objects.values()) == before

    def test_control_without_the_lock_it_is_done(self, verb: Callable[[], LegalHold]) -> None:
        with locks_off():
            assert isinstance(while_demoted(Membership.objects.get(), verb), LegalHold)


class TestRace:
    """A hold begins between the look of a deleting transaction and what it deletes."""

    def test_a_hold_that_begins_meanwhile_waits_until_the_deletion_is_over(
        self,
        team: Team,
        actor: Actor,
        operation: Operation,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        begun = _delete_while_a_hold_begins(team, actor, monkeypatch)
        assert begun == ["deleted", "on hold"]

    def test_without_the_lock_something_goes_that_is_under_a_hold(
        self,
        team: Team,
        actor: Actor,
        operation: Operation,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The control."""
        monkeypatch.setattr(legal, "keep_as_they_are", lambda team_id: None)
        begun = _delete_while_a_hold_begins(team, actor, monkeypatch)
        assert begun == ["on hold", "deleted"]

    def test_what_comes_behind_a_hold_deletes_nothing(
        self, team: Team, actor: Actor, operation: Operation
    ) -> None:
        holds.begin(team, None, reason="court", actor=actor, now=NOW)
        assert payloads.delete_some(team, LATER, LATER, days=30).operations == 0
        assert len(holding(MARK)) == 20

    def test_a_batch_that_was_to_be_pruned_stays_when_a_hold_began_after_the_look(
        self, team: Team, actor: Actor, operation: Operation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        holds.end(
            holds.begin(team, None, reason="x", actor=actor, now=NOW).pk,
            team=team,
            reason="x",
            actor=actor,
            now=NOW,
        )
        seal_due(NOW)
        look = legal.keep_as_they_are

        def begin_then_look(team_id: int) -> None:
            if not legal.held(team_id):
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(_begin, team, actor).result(timeout=20)
            look(team_id)

        monkeypatch.setattr(legal, "keep_as_they_are", begin_then_look)
        assert pruning.prune(team, LATER) == 0
        assert Event.objects.count() == 3


def _begin(team: Team, actor: Actor) -> None:
    try:
        holds.begin(team, None, reason="court", actor=actor, now=NOW)
    finally:
        connection.close()


def _delete_while_a_hold_begins(
    team: Team, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """In which order the two came to an end."""
    ended: list[str] = []
    looked, is_on = threading.Event(), threading.Event()

    def look(*args: Any) -> Any:
        found = deletable(*args)
        ids = list(found.values_list("pk", flat=True))
        looked.set()
        # with the lock, the hold waits for us: nobody says so
        is_on.wait(timeout=1)
        return Operation.objects.filter(pk__in=ids)

    monkeypatch.setattr(payloads, "deletable", look)

    def delete() -> None:
        payloads.delete_some(team, LATER, LATER, days=30)
        ended.append("deleted")

    def begin() -> None:
        looked.wait(timeout=10)
        holds.begin(team, None, reason="court", actor=actor, now=NOW)
        ended.append("on hold")
        is_on.set()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(_closing, delete), pool.submit(_closing, begin)]:
            done.result(timeout=20)
    assert holding(MARK) == []
    return ended


def _closing(do: Callable[[], None]) -> None:
    try:
        do()
    finally:
        with suppress(Exception):
            connection.close()
