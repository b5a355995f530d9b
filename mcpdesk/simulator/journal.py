"""What was asked of an instance: enough to assert on, bounded, without arguments or answers."""

from collections import Counter, deque
from dataclasses import dataclass, field

from mcpdesk.simulator.protocol import Json

KEPT = 2000


@dataclass(slots=True)
class Entry:
    """One request: Unix ms, method, the value of Mcp-Name or empty, JSON-RPC id."""

    at: int
    method: str
    name: str
    id: object = None


@dataclass(slots=True)
class Journal:
    """Counts of requests by method, the latest requests, and how many ran side by side."""

    counts: Counter[str] = field(default_factory=Counter)
    recent: deque[Entry] = field(default_factory=lambda: deque(maxlen=KEPT))
    in_flight: int = 0
    max_in_flight: int = 0

    def begin(self, at_ms: int, method: str, name: str) -> Entry:
        """Note a request that starts; its id is filled in once it is known."""
        entry = Entry(at_ms, method, name)
        self.counts[method] += 1
        self.recent.append(entry)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        return entry

    def end(self) -> None:
        """Note that a request was answered or given up."""
        self.in_flight -= 1

    def reset(self) -> None:
        """Forget everything but what is running now."""
        self.counts.clear()
        self.recent.clear()
        self.max_in_flight = self.in_flight

    def report(self, instance: str) -> list[Json]:
        """The latest requests, oldest first; `at` is Unix milliseconds."""
        return [
            {"at": e.at, "method": e.method, "name": e.name, "id": e.id, "instance": instance}
            for e in self.recent
        ]
