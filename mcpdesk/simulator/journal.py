"""What was asked of an instance: enough to assert on, bounded, without arguments or answers."""

from collections import Counter, deque
from dataclasses import dataclass, field

from mcpdesk.simulator.protocol import Json

KEPT = 2000


@dataclass(slots=True)
class Journal:
    """Counts of requests by method, the latest requests, and how many ran side by side."""

    counts: Counter[str] = field(default_factory=Counter)
    recent: deque[tuple[int, str, str, str | int | None]] = field(
        default_factory=lambda: deque(maxlen=KEPT)
    )
    in_flight: int = 0
    max_in_flight: int = 0

    def begin(self, at_ms: int, method: str, name: str, request_id: str | int | None) -> None:
        """Note a request that starts. `name` is the value of Mcp-Name, or empty."""
        self.counts[method] += 1
        self.recent.append((at_ms, method, name, request_id))
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def end(self) -> None:
        """Note that a request was answered or given up."""
        self.in_flight -= 1

    def reset(self) -> None:
        """Forget everything but what is running now."""
        self.counts.clear()
        self.recent.clear()
        self.max_in_flight = self.in_flight

    def report(self, instance: str) -> Json:
        """The body of GET /requests; `at` is Unix milliseconds."""
        return {
            "instance": instance,
            "total": self.counts.total(),
            "by_method": dict(self.counts),
            "max_in_flight": self.max_in_flight,
            "recent": [
                {"at": at, "method": method, "name": name, "id": request_id, "instance": instance}
                for at, method, name, request_id in self.recent
            ],
        }
