"""The bytes of an event that are hashed, and what stands in them for the names of people. Pure.

Canonical bytes are RFC 8785 (JSON Canonicalization Scheme) for what an event may hold: texts,
booleans, and whole numbers that every JSON reader keeps exactly. A person's name enters as a
commitment, HMAC-SHA256 (RFC 2104) of the name under that person's own salt. To erase a person,
the salt goes and each name becomes `erased:` with its commitment: the hash stays what it was.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

#: The largest whole number that RFC 8785 (through ECMAScript) keeps exactly.
MAX_NUMBER = 2**53 - 1
#: How a name in the log begins once its person was erased.
ERASED = "erased:"

_EVENT = b"mcpdesk event 1\n"
_ERASED_NAME = re.compile(r"erased:([0-9a-f]{64})")
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode

#: The salts of people by their id; None: the person was erased.
Salts = Mapping[int, UUID | None]


class Line(NamedTuple):
    """Every column of an event; `at` as moment() writes it."""

    id: int
    at: str
    team_id: int
    kind: str
    operation_id: UUID | None
    approval_id: UUID | None
    server_id: int | None
    actor_id: int | None
    actor_name: str
    channel: str
    data: Any


def canonical(value: Any) -> bytes:
    """RFC 8785 for texts, booleans, null, whole numbers up to MAX_NUMBER, and objects of these.

    Keys have to be ASCII: for those, the order of code points is the one that the RFC asks for.
    """
    return _encode(value).encode("utf-8", "surrogatepass")


def moment(at: datetime) -> str:
    """A time as the log's seals write it: UTC, to the microsecond."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def commitment(salt: UUID, name: str) -> str:
    """What stands for a name in the hash, hex."""
    return hmac.digest(salt.bytes, name.encode(), "sha256").hex()


def event_hash(line: Line, salts: Salts) -> bytes:
    """SHA-256 over the canonical bytes of an event (32 bytes)."""
    return hashlib.sha256(_EVENT + canonical(hashed_values(line, salts))).digest()


def hashed_values(line: Line, salts: Salts) -> dict[str, Any]:
    """The object whose canonical bytes are hashed: every column, names as commitments."""
    return {
        "id": line.id,
        "at": line.at,
        "team": line.team_id,
        "kind": line.kind,
        "operation": _id(line.operation_id),
        "approval": _id(line.approval_id),
        "server": line.server_id,
        "actor": line.actor_id,
        "actor_name": _name(line.actor_id, line.actor_name, salts),
        "channel": line.channel,
        "data": _data(line.data, salts),
    }


def people_in(data: Mapping[str, Any]) -> dict[str, int]:
    """The fields of an event's data that name a person, and whom: those with `<field>_id` too."""
    fields = {name.removesuffix("_id"): name for name in data if name.endswith("_id")}
    return {name: data[id_] for name, id_ in fields.items() if name in data}


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _data(data: Any, salts: Salts) -> Any:
    if not isinstance(data, dict):
        return data
    people = people_in(data)
    if not people:
        return data
    return data | {name: _name(pk, data[name], salts) for name, pk in people.items()}


def _name(user_id: Any, name: Any, salts: Salts) -> Any:
    """A name as it is hashed. What is no text, or of nobody with a salt, is hashed as it stands."""
    if not isinstance(name, str):
        return name
    salt = salts.get(user_id) if isinstance(user_id, int) else None
    if salt is not None:
        return f"hmac:{commitment(salt, name)}"
    erased = _ERASED_NAME.fullmatch(name)
    if erased and user_id is not None:
        return f"hmac:{erased[1]}"
    return f"text:{name}"
