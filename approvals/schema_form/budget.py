"""One allowance of time for everything a schema may make us do."""

import time
from dataclasses import dataclass
from typing import Final, Self

ATTEMPTS: Final = 2
TOTAL_S: Final = 0.4
"""Seconds of processor time that one attempt may take; the page is promised 2 s in all.

Processor time of this thread, not the clock on the wall: a machine that is busy with something
else must not turn an honest form into one that cannot be shown.
"""


class OutOfTime(Exception):
    """The allowance is used up."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Time that runs from its start, in one thread; `ends_at` is on its clock, in seconds."""

    ends_at: float

    @classmethod
    def start(cls, seconds: float = TOTAL_S) -> Self:
        """A fresh allowance of so many seconds."""
        return cls(time.thread_time() + seconds)

    def left(self) -> float:
        """Seconds that remain; negative when it is used up."""
        return self.ends_at - time.thread_time()

    def check(self) -> None:
        """Raise OutOfTime when nothing is left. Call it in every loop over a server's data."""
        if self.left() <= 0:
            raise OutOfTime
