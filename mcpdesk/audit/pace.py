"""When the clock rings for the log: once a minute, and where it should not wait that long."""

from mcpdesk.audit import passes
from mcpdesk.audit.sealing import full_batch_waits

SEAL_EVERY_S = 60.0
#: How often it is asked whether a whole batch waits, or a verification is under way.
LOOK_EVERY_S = 5.0


class Pace:
    """Keeps when it was last time; starts with a ring."""

    def __init__(self) -> None:
        self._sealed_at = self._looked_at = float("-inf")

    def is_time(self, monotonic: float) -> bool:
        """Whether to seal and verify now; `monotonic` is a steady clock in s."""
        if monotonic - self._looked_at < LOOK_EVERY_S:
            return False
        self._looked_at = monotonic
        is_time = monotonic - self._sealed_at >= SEAL_EVERY_S
        if is_time or full_batch_waits() or passes.anything_due():
            self._sealed_at = monotonic
            return True
        return False
