"""Verifies a team's log: every seal and every sealed event, from a place in the chain on.

It goes in steps of some seals, each in a short transaction with a server-side cursor: memory stays
the same however long the log is, and no snapshot of the database is held for long.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from mcpdesk.audit.canonical import Line, Salts, moment
from mcpdesk.audit.chain import BEGINNING, Content
from mcpdesk.audit.comparing import event_faults, seal_faults
from mcpdesk.audit.findings import Fault, Finding
from mcpdesk.audit.lines import lines, salts, seals_of
from mcpdesk.audit.locks import keep_as_it_is
from mcpdesk.audit.models import Seal
from mcpdesk.audit.sealing import content_of
from mcpdesk.audit.signing import is_signed, public_keys

#: How many seals one step verifies.
STEP = 50
#: How many findings of a step are kept; the others are counted.
KEPT = 100


@dataclass(frozen=True, slots=True)
class Place:
    """How far a verification has come: behind the seal with this number."""

    number: int = 0
    #: of that seal; None: it was wrong, so that nothing can be said of the next one's link to it
    digest: bytes | None = BEGINNING
    #: the last id that it covers; None: nothing yet
    event_id: int | None = None
    events: int = 0
    pruned: int = 0
    #: when the latest seal was made
    sealed_at: datetime | None = None


BEGIN = Place()


@dataclass(frozen=True, slots=True)
class Step:
    """What one step came to.

    `findings` are the first KEPT of `found`. `is_last`: there is no seal behind `place`.
    """

    place: Place
    findings: list[Finding]
    found: int
    is_last: bool


def steps(team_id: int, place: Place = BEGIN, *, size: int = STEP) -> Iterator[Step]:
    """Verify the log from a place on, step by step, to its last seal."""
    while True:
        step = next_step(team_id, place, size)
        yield step
        if step.is_last:
            return
        place = step.place


@transaction.atomic
def next_step(team_id: int, place: Place, size: int = STEP) -> Step:
    """Verify the next seals. Nothing is pruned or erased meanwhile."""
    keep_as_it_is()
    behind = seals_of(team_id).filter(number__gt=place.number).order_by("number")
    seals = list(behind[: size + 1])
    if not seals:
        return Step(place, [], 0, is_last=True)
    mine, beyond = seals[:size], seals[size:]
    walk = _Walk(place, lines(team_id, place.event_id, _end(mine[-1], beyond)), salts())
    findings: list[Finding] = []
    found = 0
    for number, seal in enumerate(mine):
        for finding in walk.over(seal, _end(seal, seals[number + 1 :])):
            found += 1
            if found <= KEPT:
                findings.append(finding)
    return Step(walk.place, findings, found, is_last=not beyond)


def _end(seal: Seal, behind: list[Seal]) -> int:
    """The last id that can be the seal's, whatever the seal itself says."""
    return behind[0].first_event_id - 1 if behind else seal.last_event_id


class _Walk:
    """Goes over seals and events side by side, both in order."""

    def __init__(self, place: Place, events: Iterator[Line], known: Salts) -> None:
        self.place = place
        self._events = events
        self._ahead = next(events, None)
        self._salts = known
        self._keys = public_keys()

    def over(self, seal: Seal, end: int) -> Iterator[Finding]:
        """What is wrong with the next seal and its events; `place` is behind it afterwards.

        `end`: the last id before the seal behind it. Events of a seal that is wrong itself cannot
        be verified, and are passed over.
        """
        content = content_of(seal)
        if content.number != self.place.number + 1:
            yield from self._gap(content)
        signature = bytes(seal.signature)
        faults = seal_faults(content, signature, self.place.digest, self._keys, is_signed)
        found = [*faults, *self._pruning_faults(seal, content)]
        yield from found
        broken = any(finding.fault is not Fault.CHAIN_BROKEN for finding in found)
        pruned = seal.pruned_at is not None
        if not broken and not pruned:
            yield from event_faults(content, self._up_to(content.last_event_id), self._salts)
        for line in self._up_to(end if broken else content.last_event_id):
            if not broken:
                yield _not_pruned(content, line)
        self.place = Place(
            number=content.number,
            digest=None if broken else content.digest(),
            event_id=end if broken else content.last_event_id,
            events=self.place.events + (0 if pruned or broken else content.event_count),
            pruned=self.place.pruned + pruned,
            sealed_at=content.sealed_at,
        )

    def _up_to(self, event_id: int) -> Iterator[Line]:
        while self._ahead is not None and self._ahead.id <= event_id:
            yield self._ahead
            self._ahead = next(self._events, None)

    def _gap(self, content: Content) -> Iterator[Finding]:
        """Seals are missing: their events cannot be verified, and are passed over."""
        first, last = self.place.number + 1, content.number - 1
        words = "it is missing" if first == last else f"it is missing, as are all up to {last}"
        yield Finding(Fault.SEAL_MISSING, first, words)
        for _ in self._up_to(content.first_event_id - 1):
            pass
        self.place = replace(self.place, digest=None)

    def _pruning_faults(self, seal: Seal, content: Content) -> Iterator[Finding]:
        """A mark that says that the events were pruned is signed like a seal."""
        at, signature = seal.pruned_at, seal.pruned_signature
        if at is None and signature is None:
            return
        signed = at is not None and self._any_signed(
            content.pruning_bytes(at), bytes(signature or b"")
        )
        if not signed:
            words = "it says that its events were pruned, and that is not signed"
            yield Finding(Fault.SEAL_CHANGED, content.number, words)

    def _any_signed(self, message: bytes, signature: bytes) -> bool:
        return any(is_signed(message, signature, key) for key in self._keys.values())


def _not_pruned(content: Content, line: Line) -> Finding:
    words = "it was added: the events of this seal were pruned"
    return Finding(Fault.ADDED, content.number, words, line.id, line.at)


@dataclass(frozen=True, slots=True)
class Anchor:
    """What is known of the log from before: the number of a seal, and its digest."""

    number: int
    digest: bytes


def anchor_fault(team_id: int, anchor: Anchor) -> Finding | None:
    """Whether the log still holds that seal; the chain up to it is verified apart."""
    seal = seals_of(team_id).filter(number=anchor.number).first()
    if seal is None:
        last = seals_of(team_id).order_by("-number").first()
        end = (
            f"ends after seal {last.number} of {moment(last.sealed_at)}" if last else "has no seal"
        )
        words = f"the log was truncated: this seal was there before, and now the log {end}"
        return Finding(Fault.TRUNCATED, anchor.number, words)
    if content_of(seal).digest() != anchor.digest:
        words = "it is not the seal that was there before: the log was replaced"
        return Finding(Fault.SEAL_CHANGED, anchor.number, words)
    return None
