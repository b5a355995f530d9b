"""An attacker with the database changes the log: the first line is named, whatever they do."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpdesk.accounts.models import Team, User
from mcpdesk.audit import signing
from mcpdesk.audit.findings import Fault, Finding
from mcpdesk.audit.models import Event, Seal, Verification
from mcpdesk.audit.passes import begin_again, go_on
from mcpdesk.audit.sealing import content_of
from mcpdesk.audit.verifying import Anchor, anchor_fault, steps
from tests.audit.conftest import Happen, attack, seal
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
OTHER_KEY = "b3RoZXIta2V5LW9ubHktb3RoZXIta2V5LW9ubHktb3Q="


def findings(team: Team, size: int = 50) -> list[Finding]:
    return [finding for step in steps(team.pk, size=size) for finding in step.findings]


@pytest.fixture
def log(happen: Happen) -> list[int]:
    """Three seals over seven events; their ids."""
    for number, count in enumerate((3, 1, 3)):
        happen(count, at=NOW + number * MINUTE)
        seal(NOW + number * MINUTE)
    return list(Event.objects.order_by("id").values_list("id", flat=True))


@pytest.mark.parametrize("size", [1, 2, 50])
def test_a_log_that_nobody_touched_is_whole(log: list[int], team: Team, size: int) -> None:
    *_, last = steps(team.pk, size=size)
    assert findings(team, size) == []
    assert (last.place.number, last.place.events, last.is_last) == (3, 7, True)
    assert last.place.sealed_at == NOW + 2 * MINUTE


CHANGES = {
    "id": "id + 1000000",
    "at": "at + interval '1 microsecond'",
    "team_id": "{other_team}",
    "kind": "'task.changee'",
    "operation_id": "gen_random_uuid()",
    "approval_id": "gen_random_uuid()",
    "server_id": "server_id + 1",
    "actor_id": "{other_user}",
    "actor_name": "actor_name || '.'",
    "channel": "'clocl'",
    "data": """data || '{{"polls": 8}}'""",
}


def test_every_column_of_an_event_is_attacked_here() -> None:
    assert CHANGES.keys() == {field.column for field in Event._meta.concrete_fields}


@pytest.mark.parametrize("column", CHANGES)
def test_a_change_of_any_column_is_named(
    log: list[int], team: Team, nina: User, column: str
) -> None:
    value = CHANGES[column].format(other_team=TeamFactory().pk, other_user=nina.pk)
    attack(f"UPDATE audit_event SET {column} = {value} WHERE id = %s", log[1])
    first = findings(team)[0]
    expected = Fault.MISSING if column in {"id", "team_id"} else Fault.CHANGED
    assert (first.fault, first.event_id, first.seal) == (expected, log[1], 1)


ODD = ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'294276-01-01'"]


@pytest.mark.parametrize("moment", ODD)
def test_a_time_that_python_cannot_hold_is_named(log: list[int], team: Team, moment: str) -> None:
    attack(f"UPDATE audit_event SET at = {moment} WHERE id = %s", log[4])
    assert [(f.fault, f.event_id) for f in findings(team)] == [(Fault.CHANGED, log[4])]


@pytest.mark.parametrize("moment", ODD)
@pytest.mark.parametrize("column", ["earliest_at", "latest_at", "sealed_at", "pruned_at"])
@pytest.mark.parametrize("number", [2, 3])
def test_a_seal_with_a_time_that_python_cannot_hold_blinds_nobody(
    log: list[int], team: Team, number: int, column: str, moment: str
) -> None:
    """One such time, and no step of the verification could be taken any more."""
    go_on(lambda: NOW)
    attack(f"UPDATE audit_seal SET {column} = {moment} WHERE number = %s", number)
    begin_again(team.pk, NOW + MINUTE)
    go_on(lambda: NOW + MINUTE)
    row = Verification.objects.get(team=team)
    assert row.finished_at == NOW + MINUTE
    assert f"Seal {number}" in row.finding


@pytest.mark.parametrize("moment", ODD)
def test_an_event_with_such_a_time_is_sealed_as_it_stands(
    log: list[int], team: Team, happen: Happen, moment: str
) -> None:
    """Nothing is open to be changed behind an event that cannot be sealed."""
    poisoned, _ = happen(2)
    attack(f"UPDATE audit_event SET at = {moment} WHERE id = %s", poisoned.pk)
    assert seal(NOW + MINUTE) == 1
    assert findings(team) == []
    attack("UPDATE audit_event SET channel = 'api' WHERE id = %s", poisoned.pk)
    assert [f.event_id for f in findings(team)] == [poisoned.pk]


def test_what_was_done_to_one_chain_keeps_no_other_from_being_sealed(
    log: list[int], happen: Happen
) -> None:
    attack("UPDATE audit_seal SET sealed_at = 'infinity'")
    other = TeamFactory()
    happen()
    happen(of=other)
    assert seal(NOW + MINUTE) == 1
    assert Seal.objects.filter(team=other).count() == 1


DATA = [
    *("1", "null", "[]", '"x"', "1" * 5000, "[" * 3000 + "]" * 3000),
    '{"polls": 1.0, "status": "working"}',
]


@pytest.mark.parametrize("data", DATA)
def test_data_that_the_desk_would_never_write_is_named(
    log: list[int], team: Team, data: str
) -> None:
    attack("UPDATE audit_event SET data = %s::jsonb WHERE id = %s", data, log[1])
    assert [(f.fault, f.event_id) for f in findings(team)] == [(Fault.CHANGED, log[1])]


@pytest.mark.parametrize("place", range(7))
def test_a_deleted_event_is_named(log: list[int], team: Team, place: int) -> None:
    attack("DELETE FROM audit_event WHERE id = %s", log[place])
    assert [(f.fault, f.event_id) for f in findings(team)] == [(Fault.MISSING, log[place])]


def insert(event_id: int, like: int) -> None:
    columns = [column for column in CHANGES if column != "id"]
    names = ", ".join(columns)
    attack(
        f"INSERT INTO audit_event (id, {names}) SELECT %s, {names} FROM audit_event WHERE id = %s",
        event_id,
        like,
    )


def test_an_added_event_is_named(log: list[int], team: Team) -> None:
    """Before the first, where another one was, and between two seals."""
    attack("DELETE FROM audit_event WHERE id = %s", log[3])
    for event_id in (log[0] - 1, -5):
        insert(event_id, log[0])
    found = findings(team)
    assert (found[0].fault, found[0].event_id) == (Fault.ADDED, -5)
    assert (found[1].fault, found[1].event_id) == (Fault.ADDED, log[0] - 1)
    assert (found[2].fault, found[2].event_id) == (Fault.MISSING, log[3])


def test_swapped_events_are_named_as_reordered(log: list[int], team: Team) -> None:
    attack("UPDATE audit_event SET id = -id WHERE id IN (%s, %s)", log[0], log[2])
    attack("UPDATE audit_event SET id = %s WHERE id = %s", log[2], -log[0])
    attack("UPDATE audit_event SET id = %s WHERE id = %s", log[0], -log[2])
    found = findings(team)
    assert [(f.fault, f.event_id) for f in found] == [
        (Fault.REORDERED, log[0]),
        (Fault.REORDERED, log[2]),
    ]
    assert str(log[2]) in found[0].words


SEAL_CHANGES = {
    "team_id": "{other_team}",
    "number": "number + 70",
    "first_event_id": "first_event_id - 1",
    "last_event_id": "last_event_id + 1000",
    "event_count": "event_count + 1",
    "earliest_at": "earliest_at - interval '1 microsecond'",
    "latest_at": "latest_at + interval '1 microsecond'",
    "sealed_at": "sealed_at + interval '1 microsecond'",
    "root": "set_byte(root, 31, get_byte(root, 31) # 1)",
    "lines": "set_byte(lines, 15, get_byte(lines, 15) # 1)",
    "previous": "set_byte(previous, 0, get_byte(previous, 0) # 1)",
    "signature": "set_byte(signature, 0, get_byte(signature, 0) # 1)",
    "key_id": "'0123456789abcdef'",
    "pruned_at": "now()",
    "pruned_signature": "signature",
}


@pytest.mark.parametrize("column", SEAL_CHANGES)
def test_a_change_of_any_column_of_a_seal_is_named(log: list[int], team: Team, column: str) -> None:
    value = SEAL_CHANGES[column].format(other_team=TeamFactory().pk)
    attack(f"UPDATE audit_seal SET {column} = {value} WHERE number = 2")
    first = findings(team)[0]
    expected = {
        "team_id": Fault.SEAL_MISSING,
        "number": Fault.SEAL_MISSING,
        "key_id": Fault.SEAL_UNKNOWN_KEY,
    }.get(column, Fault.SEAL_CHANGED)
    assert (first.fault, first.seal) == (expected, 2)


def test_every_column_of_a_seal_is_attacked_here() -> None:
    assert SEAL_CHANGES.keys() == {field.column for field in Seal._meta.concrete_fields}


def test_one_wrong_seal_lays_no_blame_on_the_others(log: list[int], team: Team) -> None:
    attack("UPDATE audit_seal SET last_event_id = last_event_id + 1000 WHERE number = 2")
    assert [finding.seal for finding in findings(team)] == [2]


@pytest.mark.parametrize("size", [1, 50])
def test_deleted_seals_are_named(log: list[int], team: Team, size: int) -> None:
    attack("DELETE FROM audit_seal WHERE number IN (1, 2)")
    (finding,) = findings(team, size)
    assert (finding.fault, finding.seal) == (Fault.SEAL_MISSING, 1)
    assert "up to 2" in finding.words


def test_a_chain_made_anew_with_another_key_is_named(
    log: list[int], team: Team, settings: Any
) -> None:
    """As an attacker does it who has the code and the database, and not the key."""
    ours = settings.SEAL_KEY
    attack("UPDATE audit_event SET actor_name = 'Somebody' WHERE id = %s", log[0])
    attack("DELETE FROM audit_seal")
    settings.SEAL_KEY = OTHER_KEY
    seal()
    settings.SEAL_KEY = ours
    assert findings(team)[0].fault is Fault.SEAL_UNKNOWN_KEY
    theirs = signing.key_id(signing.public_of(OTHER_KEY))
    known = signing.key_id(signing.public_of(ours))
    attack("UPDATE audit_seal SET key_id = %s WHERE key_id = %s", known, theirs)
    assert findings(team)[0].fault is Fault.SEAL_CHANGED


def test_after_a_rotation_seals_of_the_former_key_are_believed(
    log: list[int], team: Team, happen: Happen, settings: Any
) -> None:
    former = signing.text_of(signing.public_of(settings.SEAL_KEY))
    settings.SEAL_KEY = OTHER_KEY
    happen()
    seal()
    assert {finding.fault for finding in findings(team)} == {Fault.SEAL_UNKNOWN_KEY}
    settings.SEAL_PUBLIC_KEYS = [former]
    assert findings(team) == []
    assert len({seal.key_id for seal in Seal.objects.all()}) == 2


class TestATruncatedTail:
    def _anchor(self, team: Team) -> Anchor:
        last = Seal.objects.filter(team=team).order_by("number").last()
        assert last is not None
        return Anchor(last.number, content_of(last).digest())

    def test_it_is_seen_with_an_anchor_alone(self, log: list[int], team: Team) -> None:
        anchor = self._anchor(team)
        attack("DELETE FROM audit_seal WHERE number = 3")
        attack("DELETE FROM audit_event WHERE id > %s", log[3])
        assert findings(team) == []
        fault = anchor_fault(team.pk, anchor)
        assert fault is not None
        assert (fault.fault, fault.seal) == (Fault.TRUNCATED, 3)
        assert "ends after seal 2" in fault.words

    def test_a_tail_that_was_replaced_is_seen(
        self, log: list[int], team: Team, happen: Happen
    ) -> None:
        anchor = self._anchor(team)
        assert anchor_fault(team.pk, anchor) is None
        attack("DELETE FROM audit_seal WHERE number = 3")
        attack("DELETE FROM audit_event WHERE id > %s", log[3])
        happen()
        seal()
        fault = anchor_fault(team.pk, anchor)
        assert fault is not None
        assert (fault.fault, fault.seal) == (Fault.SEAL_CHANGED, 3)


def test_the_logs_of_two_teams_are_two_chains(log: list[int], happen: Happen, team: Team) -> None:
    other = TeamFactory()
    happen(2, of=other)
    seal()
    attack("UPDATE audit_event SET channel = 'api' WHERE id = %s", log[0])
    assert findings(other) == []
    assert Seal.objects.get(team=other).number == 1


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=60,
)
@given(data=st.data())
def test_one_byte_of_any_row_is_named(log: list[int], team: Team, data: st.DataObject) -> None:
    """A text, an id, a number or a hash of any row: one byte of it becomes another one."""
    table = data.draw(st.sampled_from(["audit_event", "audit_seal"]))
    key = data.draw(st.sampled_from(log if table == "audit_event" else [1, 2, 3]))
    column = data.draw(st.sampled_from(_BYTES[table]))
    with connection.cursor() as cursor:
        where = "id" if table == "audit_event" else "number"
        cursor.execute(f"SELECT {column}::text FROM {table} WHERE {where} = %s", [key])
        (before,) = cursor.fetchone()
        place = data.draw(st.integers(0, len(before) - 1))
        after = _another(before, place)
        attack(f"UPDATE {table} SET {column} = %s WHERE {where} = %s", after, key)
        found = findings(team)
        attack(f"UPDATE {table} SET {column} = %s WHERE {where} = %s", before, key)
    assert found
    assert (found[0].event_id if table == "audit_event" else found[0].seal) == key
    assert findings(team) == []


_BYTES = {
    "audit_event": ["actor_name", "kind", "channel"],
    "audit_seal": ["root", "lines", "previous", "signature", "key_id"],
}


def _another(text: str, place: int) -> str:
    if text.startswith("\\x"):
        place = max(place, 2)
        return text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]
    return text[:place] + ("x" if text[place] != "x" else "y") + text[place + 1 :]
