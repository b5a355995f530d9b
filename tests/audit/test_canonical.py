"""The bytes that are hashed: what every other reader of the log has to come to as well."""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.audit.canonical import (
    MAX_NUMBER,
    Line,
    canonical,
    commitment,
    event_hash,
    hashed_values,
    moment,
    people_in,
)
from mcpdesk.audit.chain import Content, pack, root_of, unpack
from mcpdesk.audit.comparing import event_faults
from mcpdesk.audit.findings import Fault
from mcpdesk.audit.kinds import KINDS

SALT = UUID("11111111-2222-3333-4444-555555555555")
OTHER = UUID("99999999-2222-3333-4444-555555555555")
LINE = Line(
    id=17,
    at="2026-11-29T14:00:00.000001Z",
    team_id=3,
    kind="approval.voted_for",
    operation_id=UUID("aaaaaaaa-0000-0000-0000-000000000001"),
    approval_id=UUID("bbbbbbbb-0000-0000-0000-000000000002"),
    server_id=5,
    actor_id=7,
    actor_name="Nina Köhler",
    channel="web",
    data={"choice": "accept", "person": "Óscar", "person_id": 8},
)
SALTS = {7: SALT, 8: OTHER}

keys = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
plain = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_NUMBER, MAX_NUMBER)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.dictionaries(keys, plain | st.dictionaries(keys, plain, max_size=3), max_size=8)


@given(values)
def test_what_an_event_may_hold_is_written_as_rfc_8785_says(value: dict[str, Any]) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_the_golden_bytes_of_an_event() -> None:
    """Never to change: every seal that was ever made stands on them."""
    nina = "9e05d770f8af4b326b15966a337dadf4f8753cb87045c5da8f93863f63406d1a"
    oscar = "22fdb9bd342f8b1ccee8de2beb68c133d5676f2b26f01f5b408b52d69d0cf031"
    assert canonical(hashed_values(LINE, SALTS)).decode() == (
        f'{{"actor":7,"actor_name":"hmac:{nina}",'
        '"approval":"bbbbbbbb-0000-0000-0000-000000000002",'
        '"at":"2026-11-29T14:00:00.000001Z","channel":"web",'
        f'"data":{{"choice":"accept","person":"hmac:{oscar}","person_id":8}},'
        '"id":17,"kind":"approval.voted_for",'
        '"operation":"aaaaaaaa-0000-0000-0000-000000000001","server":5,"team":3}'
    )
    assert event_hash(LINE, SALTS).hex() == (
        "b45365ea53a33f137cb2e379232b15315b181e288bcc3dc6d66f5467f7c639fa"
    )


def test_a_name_enters_as_hmac_of_its_persons_own_salt() -> None:
    expected = hmac.new(SALT.bytes, b"Nina", hashlib.sha256).hexdigest()
    assert commitment(SALT, "Nina") == expected
    assert commitment(OTHER, "Nina") != expected


def test_no_name_of_a_person_is_in_the_bytes() -> None:
    written = canonical(hashed_values(LINE, SALTS)).decode()
    assert "Nina" not in written and "Óscar" not in written


def test_an_erased_name_is_hashed_as_before() -> None:
    erased = LINE._replace(
        actor_name=f"erased:{commitment(SALT, LINE.actor_name)}",
        data=LINE.data | {"person": f"erased:{commitment(OTHER, 'Óscar')}"},
    )
    assert event_hash(erased, {7: None, 8: None}) == event_hash(LINE, SALTS)


def test_a_name_hidden_without_an_erasure_is_another_event() -> None:
    hidden = LINE._replace(actor_name=f"erased:{commitment(SALT, LINE.actor_name)}")
    assert event_hash(hidden, SALTS) != event_hash(LINE, SALTS)


def test_a_name_that_outlives_its_salt_is_another_event() -> None:
    assert event_hash(LINE, {7: None, 8: OTHER}) != event_hash(LINE, SALTS)


def test_a_service_is_hashed_by_its_name() -> None:
    service = LINE._replace(actor_id=None, actor_name="ci")
    assert hashed_values(service, SALTS)["actor_name"] == "text:ci"


different = st.sampled_from(
    [
        {"id": 18},
        {"at": "2026-11-29T14:00:00.000002Z"},
        {"team_id": 4},
        {"kind": "approval.voted"},
        {"operation_id": None},
        {"approval_id": LINE.operation_id},
        {"server_id": 0},
        {"actor_id": None},
        {"actor_name": "Nina Kohler"},
        {"channel": "api"},
        {"data": {}},
        {"data": LINE.data | {"person_id": 7}},
        {"data": LINE.data | {"person": "Oscar"}},
        {"data": LINE.data | {"more": False}},
    ]
)


@given(different)
def test_a_change_of_any_column_changes_the_hash(change: dict[str, Any]) -> None:
    assert event_hash(LINE._replace(**change), SALTS) != event_hash(LINE, SALTS)


@given(plain | st.lists(plain) | st.floats(allow_nan=False), plain)
def test_what_the_desk_never_writes_is_hashed_all_the_same(data: Any, name: Any) -> None:
    odd = LINE._replace(data={"person": name, "person_id": data}, actor_name="")
    assert len(event_hash(odd, SALTS)) == 32


def test_the_zone_of_a_time_makes_no_difference() -> None:
    here = timezone(timedelta(hours=2))
    at = datetime(2026, 11, 29, 16, 0, 0, 1, tzinfo=here)
    assert moment(at) == moment(at.astimezone(UTC)) == LINE.at


def test_only_fields_that_name_people_have_an_id_beside_them() -> None:
    """people_in() knows them by that, without the list of kinds: the list may change."""
    for kind, known in KINDS.items():
        plain_fields = dict.fromkeys(known.fields, 1)
        assert people_in(plain_fields) == {}, kind
        named = {f"{name}_id": 1 for name in known.people} | dict.fromkeys(known.people, "N")
        assert set(people_in(plain_fields | named)) == known.people, kind


hashes = st.lists(
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.binary(min_size=32, max_size=32)), max_size=20
)


@given(hashes)
def test_lines_hold_the_id_and_the_beginning_of_each_hash(made: list[tuple[int, bytes]]) -> None:
    assert list(unpack(pack(made))) == [(pk, full[:8]) for pk, full in made]


@given(hashes, st.integers(1, 15))
def test_torn_lines_are_read_as_far_as_they_go(made: list[tuple[int, bytes]], torn: int) -> None:
    assert len(list(unpack(pack(made)[:-torn]))) == max(len(made) - 1, 0)


CONTENT = Content(
    team_id=3,
    number=2,
    first_event_id=17,
    last_event_id=17,
    event_count=1,
    earliest_at=datetime(2026, 11, 29, 14, 0, tzinfo=UTC),
    latest_at=datetime(2026, 11, 29, 14, 0, 0, 1, tzinfo=UTC),
    sealed_at=datetime(2026, 11, 29, 14, 1, tzinfo=UTC),
    root=root_of([event_hash(LINE, SALTS)]),
    lines=pack([(17, event_hash(LINE, SALTS))]),
    previous=b"p" * 32,
    key_id="0123456789abcdef",
)


def test_the_golden_digest_of_a_seal() -> None:
    assert CONTENT.digest().hex() == (
        "4b0bb886655ef076b978131ed4ea7be95871f6bdd3d40036ab5a8c4b9dfe6102"
    )


MORE = {int: 1, str: "1", bytes: b"1", datetime: timedelta(microseconds=1)}


@pytest.mark.parametrize("name", Content.__dataclass_fields__)
def test_every_column_of_a_seal_is_signed(name: str) -> None:
    value = getattr(CONTENT, name)
    other = replace(CONTENT, **{name: value + MORE[type(value)]})
    assert other.signed_bytes() != CONTENT.signed_bytes()


def test_events_that_agree_in_short_are_compared_in_full() -> None:
    """Eight bytes of a hash name a line; all of them decide."""
    assert list(event_faults(CONTENT, [LINE], SALTS)) == []
    full = event_hash(LINE, SALTS)
    other = replace(CONTENT, root=root_of([full[:8] + bytes(24)]))
    assert [finding.fault for finding in event_faults(other, [LINE], SALTS)] == [Fault.CHANGED]
