"""What verification finds, in words that name the line. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """In what way the log is not what was sealed."""

    CHANGED = "changed"
    MISSING = "missing"
    ADDED = "added"
    REORDERED = "reordered"
    SEAL_MISSING = "seal missing"
    SEAL_CHANGED = "seal changed"
    SEAL_UNKNOWN_KEY = "seal of an unknown key"
    CHAIN_BROKEN = "chain broken"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and where: the seal, and the event with its time (UTC) if any."""

    fault: Fault
    seal: int
    words: str
    event_id: int | None = None
    at: str = ""

    def __str__(self) -> str:
        if self.event_id is None:
            return f"Seal {self.seal}: {self.words}"
        when = f" of {self.at}" if self.at else ""
        return f"Event {self.event_id}{when} (seal {self.seal}): {self.words}"

    def values(self) -> dict[str, object]:
        """For machines."""
        return {
            "fault": self.fault.value,
            "seal": self.seal,
            "event": self.event_id,
            "at": self.at or None,
            "words": str(self),
        }
