"""Seals and events as files: what somebody keeps elsewhere, and verifies without the desk.

Both are NDJSON. The first line says what it is; docs/audit.md has the fields.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from mcpdesk.accounts.models import Team
from mcpdesk.audit.canonical import Line, Salts, moment, people_in
from mcpdesk.audit.lines import FETCH, lines, salts
from mcpdesk.audit.models import Event, Seal
from mcpdesk.audit.sealing import content_of
from mcpdesk.audit.signing import public_keys, text_of
from mcpdesk.audit.verifying import Anchor

SEALS = "mcpdesk seals 1"
EVENTS = "mcpdesk events 1"
#: How many rows are read at a time.
SEALS_AT_ONCE = 100


def exported_seals(team: Team, now: datetime) -> Iterator[bytes]:
    """All of a team's seals with the public keys that verify them, a line each."""
    keys = {key_id: text_of(key) for key_id, key in public_keys().items()}
    yield _line({"what": SEALS, "team": team.slug, "at": moment(now), "keys": keys})
    number = 0
    while seals := list(team.seals.filter(number__gt=number).order_by("number")[:SEALS_AT_ONCE]):
        yield b"".join(_line(_seal_values(seal)) for seal in seals)
        number = seals[-1].number


def exported_events(team: Team, now: datetime) -> Iterator[bytes]:
    """All of a team's events, and the salts that the names in them are hashed with.

    A salt lets whoever has it check a guess at a name: an export is as private as the log.
    """
    yield _line({"what": EVENTS, "team": team.slug, "at": moment(now)})
    known, told = salts(), set[int]()
    last = Event.objects.filter(team=team).order_by("-id").values_list("id", flat=True).first()
    after: int | None = None
    while last is not None and (batch := _batch(team.pk, after, last)):
        new = set[int]().union(*map(_people, batch)) - told
        told |= new
        yield b"".join(_line(_salt_values(user_id, known)) for user_id in sorted(new))
        yield b"".join(_line(_event_values(line)) for line in batch)
        after = batch[-1].id


def anchor_in(exported: Iterable[bytes], team_id: int) -> Anchor | None:
    """The last seal of that team in an export of seals; None: it holds none of this team.

    Raises ValueError for a file that is something else.
    """
    first, last = True, None
    for line in exported:
        values = json.loads(line)
        if first and values.get("what") != SEALS:
            raise ValueError("its first line does not say so")
        first = False
        if values.get("seal", {}).get("team") == team_id:
            last = values
    return Anchor(last["seal"]["number"], bytes.fromhex(last["digest"])) if last else None


def _seal_values(seal: Seal) -> dict[str, Any]:
    content = content_of(seal)
    signed = content.signed_bytes()
    values: dict[str, Any] = {
        "seal": json.loads(signed.partition(b"\n")[2]),
        "lines": base64.b64encode(content.lines).decode("ascii"),
        "digest": content.digest().hex(),
        "signature": bytes(seal.signature).hex(),
    }
    if seal.pruned_at is not None:
        values["pruned_at"] = moment(seal.pruned_at)
        values["pruned_signature"] = bytes(seal.pruned_signature or b"").hex()
    return values


def _batch(team_id: int, after: int | None, last: int) -> list[Line]:
    return list(lines(team_id, after, last, FETCH))


def _people(line: Line) -> set[int]:
    named = people_in(line.data).values() if isinstance(line.data, dict) else ()
    found = {line.actor_id, *named}
    return {user_id for user_id in found if isinstance(user_id, int)}


def _salt_values(user_id: int, known: Salts) -> dict[str, Any]:
    """What a person's names are hashed with; null: the person was erased."""
    salt = known.get(user_id)
    return {"person": user_id, "salt": salt.hex if salt else None}


def _event_values(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "at": line.at,
        "team": line.team_id,
        "kind": line.kind,
        "operation": str(line.operation_id) if line.operation_id else None,
        "approval": str(line.approval_id) if line.approval_id else None,
        "server": line.server_id,
        "actor": line.actor_id,
        "actor_name": line.actor_name,
        "channel": line.channel,
        "data": line.data,
    }


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
