"""What a seal holds and signs: a batch of events in short, and the seal before it. Pure."""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from mcpdesk.audit.canonical import canonical, moment

#: What a team's first seal holds in place of the digest of the one before it.
BEGINNING = bytes(32)
#: How many events one seal closes at most.
BATCH = 1000

_SEAL = b"mcpdesk seal 1\n"
_PRUNED = b"mcpdesk pruned 1\n"
# an event's id, and the first eight bytes of its hash
_LINE = struct.Struct(">q8s")


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a seal's signature covers."""

    team_id: int
    number: int
    first_event_id: int
    last_event_id: int
    event_count: int
    earliest_at: datetime
    latest_at: datetime
    sealed_at: datetime
    root: bytes
    lines: bytes
    previous: bytes
    key_id: str

    def signed_bytes(self) -> bytes:
        """What is signed: `lines` by their SHA-256, everything else as it is."""
        values = {
            "team": self.team_id,
            "number": self.number,
            "first": self.first_event_id,
            "last": self.last_event_id,
            "count": self.event_count,
            "earliest": moment(self.earliest_at),
            "latest": moment(self.latest_at),
            "sealed_at": moment(self.sealed_at),
            "root": self.root.hex(),
            "lines": hashlib.sha256(self.lines).hexdigest(),
            "previous": self.previous.hex(),
            "key": self.key_id,
        }
        return _SEAL + canonical(values)

    def digest(self) -> bytes:
        """What the next seal holds of this one (32 bytes)."""
        return hashlib.sha256(self.signed_bytes()).digest()

    def pruning_bytes(self, pruned_at: datetime) -> bytes:
        """What is signed when the events of this seal are removed."""
        return _PRUNED + canonical({"seal": self.digest().hex(), "pruned_at": moment(pruned_at)})


def pack(hashes: Iterable[tuple[int, bytes]]) -> bytes:
    """`lines` of a seal, from the id and the full hash of each event."""
    return b"".join(_LINE.pack(pk, full[:8]) for pk, full in hashes)


def unpack(lines: bytes) -> Iterator[tuple[int, bytes]]:
    """The id and the short hash (8 bytes) of each event; a torn end is left out."""
    whole = len(lines) - len(lines) % _LINE.size
    return _LINE.iter_unpack(lines[:whole])


def root_of(hashes: Iterable[bytes]) -> bytes:
    """SHA-256 over the full hashes of a batch, in order."""
    return hashlib.sha256(b"".join(hashes)).digest()
