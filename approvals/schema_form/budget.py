"""One allowance of time for everything a schema may make us do."""

import time
from dataclasses import dataclass
from typing import Final, Self

TOTAL_S: Final = 1.0
"""Seconds that one call may take in all; half of what the page is promised (2 s)."""


class OutOfTime(Exception):
    """The allowance is used up."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Time that runs from its start; `ends_at` is on the monotonic clock, in seconds."""

    ends_at: float

    @classmethod
    def start(cls, seconds: float = TOTAL_S) -> Self:
        """A fresh allowance of so many seconds."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds that remain; negative when it is used up."""
        return self.ends_at - time.monotonic()

    def check(self) -> None:
        """Raise OutOfTime when nothing is left. Call it in every loop over a server's data."""
        if self.left() <= 0:
            raise OutOfTime
