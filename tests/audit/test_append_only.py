"""What PostgreSQL itself refuses to do to the log."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.canonical import commitment
from mcpdesk.audit.models import Event, Seal
from tests.audit.conftest import Happen, seal

pytestmark = pytest.mark.django_db


def refused(sql: str, *values: Any, door: tuple[str, str] | None = None) -> str:
    """What the database says to it; empty: it did it."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            if door is not None:
                cursor.execute("SELECT set_config(%s, %s, true)", door)
            cursor.execute(sql, values)
            cursor.execute("SELECT set_config('mcpdesk.erasing', '', true)")
            cursor.execute("SELECT set_config('mcpdesk.pruning', '', true)")
    except DatabaseError as error:
        return str(error)
    return ""


COLUMNS = [field.column for field in Event._meta.concrete_fields]


@pytest.mark.parametrize("column", COLUMNS)
def test_no_column_of_an_event_can_be_changed(happen: Happen, column: str) -> None:
    happen(2)
    first, second = Event.objects.values_list("pk", flat=True)
    other = {
        "id": "id + 100",
        "at": "at + interval '1 microsecond'",
        "data": """data || '{"x": 1}'""",
        "operation_id": "gen_random_uuid()",
        "approval_id": "gen_random_uuid()",
        "actor_id": "NULL",
    }.get(column, f"(SELECT max({column}) FROM audit_event WHERE id = {second})")
    if column in {"kind", "channel", "actor_name"}:
        other = "'x'"
    if column in {"team_id", "server_id"}:
        other = "77"
    sql = f"UPDATE audit_event SET {column} = {other} WHERE id = {first}"
    assert "append-only" in refused(sql)


def test_events_can_be_neither_deleted_nor_emptied(happen: Happen) -> None:
    happen(2)
    seal()
    assert "append-only" in refused("DELETE FROM audit_event")
    assert "append-only" in refused("DELETE FROM audit_event", door=("mcpdesk.pruning", "1"))


@pytest.fixture
def closed_to_truncate() -> Iterator[None]:
    """As in every database but that of the tests (tests/conftest.py)."""
    with connection.cursor() as cursor:
        for table in ("audit_event", "audit_seal"):
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    yield


@pytest.mark.parametrize("table", ["audit_event", "audit_seal"])
def test_the_log_cannot_be_emptied(closed_to_truncate: None, table: str) -> None:
    assert "RAISE" in refused(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("column", [field.column for field in Seal._meta.concrete_fields])
def test_no_column_of_a_seal_can_be_changed(happen: Happen, column: str) -> None:
    happen()
    seal()
    other = {
        "number": "7",
        "key_id": "'x'",
        "pruned_signature": "'x'::bytea",
        "team_id": "77",
        "event_count": "event_count + 1",
        "first_event_id": "first_event_id - 1",
        "last_event_id": "last_event_id + 1",
        "earliest_at": "now()",
        "latest_at": "now()",
        "sealed_at": "now()",
        "pruned_at": "now()",
    }.get(column, "'x'::bytea")
    assert "a seal can be" in refused(f"UPDATE audit_seal SET {column} = {other}")


def test_a_seal_stays(happen: Happen) -> None:
    happen()
    seal()
    assert "for ever" in refused("DELETE FROM audit_seal")


def test_a_seal_is_marked_as_pruned_once_and_in_order(happen: Happen) -> None:
    for _ in range(2):
        happen()
        seal()
    mark = "UPDATE audit_seal SET pruned_at = now(), pruned_signature = 'x' WHERE number = %s"
    assert "from its beginning" in refused(mark, 2)
    assert refused(mark, 1) == ""
    assert "once" in refused(mark, 1)
    assert "once" in refused("UPDATE audit_seal SET pruned_at = NULL, pruned_signature = NULL")


class TestTheDoorOfErasure:
    """It lets the name of one person become its commitment, and nothing else through."""

    def _door(self, user: User) -> tuple[str, str]:
        return ("mcpdesk.erasing", str(user.pk))

    def _erased(self, user: User, name: str) -> str:
        return f"erased:{commitment(user.log_salt, name)}"

    def test_a_name_becomes_its_commitment(self, happen: Happen, nina: User) -> None:
        happen()
        sql = "UPDATE audit_event SET actor_name = %s"
        assert refused(sql, self._erased(nina, nina.name), door=self._door(nina)) == ""

    def test_nothing_else_takes_the_place_of_a_name(self, happen: Happen, nina: User) -> None:
        happen()
        sql = "UPDATE audit_event SET actor_name = %s"
        for name in ("Somebody", "erased:" + "0" * 64, self._erased(nina, "Nina")):
            assert "nothing else" in refused(sql, name, door=self._door(nina))

    def test_nothing_changes_beside_it(self, happen: Happen, nina: User) -> None:
        happen()
        sql = "UPDATE audit_event SET actor_name = %s, channel = 'api'"
        erased = self._erased(nina, nina.name)
        assert "nothing else" in refused(sql, erased, door=self._door(nina))

    def test_the_names_of_others_stay(self, happen: Happen, nina: User) -> None:
        (event,) = happen()
        other = User.objects.get(pk=event.data["person_id"])
        sql = "UPDATE audit_event SET actor_name = %s"
        erased = self._erased(nina, nina.name)
        assert "nothing else" in refused(sql, erased, door=self._door(other))

    def test_a_name_in_the_data_becomes_its_commitment(self, happen: Happen) -> None:
        (event,) = happen()
        other = User.objects.get(pk=event.data["person_id"])
        sql = "UPDATE audit_event SET data = jsonb_set(data, %s, to_jsonb(%s::text))"
        erased = self._erased(other, other.name)
        assert refused(sql, ["person"], erased, door=self._door(other)) == ""
        assert "nothing else" in refused(sql, ["role"], erased, door=self._door(other))


@given(st.uuids(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_sql_and_python_come_to_the_same_commitment(salt: UUID, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT audit_commitment(%s, %s)", [salt, name])
        assert cursor.fetchone() == (commitment(salt, name),)


def test_a_batch_goes_whole_or_not_at_all(happen: Happen, team: Team) -> None:
    first, *_ = happen(3)
    seal()
    mark = "UPDATE audit_seal SET pruned_at = now(), pruned_signature = 'x'"
    assert refused(mark) == ""
    door = ("mcpdesk.pruning", "1")
    assert "as a whole" in refused("DELETE FROM audit_event WHERE id = %s", first.pk, door=door)
    assert refused("DELETE FROM audit_event", door=door) == ""
