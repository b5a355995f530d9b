"""When a process that died is started again, and when that has become pointless. Pure."""

from dataclasses import dataclass

# A process that lived this long (s) had started well: what killed it came from outside.
LONG_LIFE_S = 20.0
FIRST_DELAY_S = 0.5
MAX_QUICK_DEATHS = 5


@dataclass(slots=True)
class Backoff:
    """Counts the quick deaths of one process that followed each other."""

    quick_deaths: int = 0

    def delay_s(self, lived_s: float) -> float | None:
        """Seconds to wait before the next start; None: it died quickly too often, give up."""
        if lived_s >= LONG_LIFE_S:
            self.quick_deaths = 0
            return FIRST_DELAY_S
        self.quick_deaths += 1
        if self.quick_deaths >= MAX_QUICK_DEATHS:
            return None
        return float(FIRST_DELAY_S * 2.0 ** (self.quick_deaths - 1))
