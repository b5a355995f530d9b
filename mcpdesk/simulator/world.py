"""One instance of the simulator: its name, its clock, its store and its secrets."""

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcpdesk.simulator.hub import Hub
from mcpdesk.simulator.journal import Journal
from mcpdesk.simulator.protocol import META_SERVER_INFO, Json
from mcpdesk.simulator.scripts import Script, Tool
from mcpdesk.simulator.sealing import Sealer
from mcpdesk.simulator.stores import Store
from mcpdesk.simulator.timeline import Seen, TaskRecord, look


def unix_ms() -> int:
    """Now, in Unix milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class World:
    """Everything a request handler needs. `clock` gives Unix milliseconds."""

    store: Store
    tools: Mapping[str, Tool]
    seed: str
    instance: str = "one"
    clock: Callable[[], int] = unix_ms
    journal: Journal = field(default_factory=Journal)
    hub: Hub = field(default_factory=Hub)
    legacy: bool = False
    """Behaves as a server of the initialize era."""
    token: str | None = None
    """The bearer token that every request must carry; None: no authorization."""
    armed: list[Json] = field(default_factory=list)
    """Rules of faults that POST /faults set."""
    sealer: Sealer = field(init=False)

    def __post_init__(self) -> None:
        self.sealer = Sealer(self.seed)

    @property
    def meta(self) -> Json:
        """`_meta` of every result: who answered, and which instance of it."""
        info = {"name": "mcpdesk-simulator", "version": "1.0.0"}
        return {META_SERVER_INFO: info, "mcpdesk.example/instance": self.instance}

    def new_task_id(self) -> str:
        """An id that cannot be guessed without the seed, and repeats under the same seed."""
        number = self.store.add("task", "number")
        key = f"task:{self.seed}:{self.instance}:{number}".encode()
        return hmac.new(self.seed.encode(), key, hashlib.sha256).hexdigest()[:32]

    def script_of(self, record: TaskRecord) -> Script:
        """The script that the arguments of a task chose."""
        return self.tools[record.tool].script(record.arguments)

    def count_effect(self, tool: str, nonce: str) -> int:
        """Note that the work of a tool was done; returns how often for this nonce (or tool)."""
        number = self.store.add("effect", tool)
        return self.store.add("effect-nonce", nonce) if nonce else number

    def look(self, record: TaskRecord) -> Seen:
        """A task as it is now. Its side effect is counted when it is first seen done."""
        script = self.script_of(record)
        seen = look(record, script, self.clock())
        if not seen.done or not script.effect or record.effect_number:
            return seen
        with self.store.change():
            self._settle(record)
        return look(record, script, self.clock())

    def _settle(self, record: TaskRecord) -> None:
        """Another instance may have been first: the number in the store is the one that counts."""
        kept = self.store.load(record.id) or record
        if not kept.effect_number:
            nonce = str(record.arguments.get("nonce", ""))
            kept.effect_number = self.count_effect(record.tool, nonce)
            self.store.save(kept)
        record.effect_number = kept.effect_number

    def settle(self) -> None:
        """Count the side effects of tasks that ended without anybody looking."""
        with self.store.change():
            for record in self.store.tasks():
                self.look(record)

    def reset(self) -> None:
        """Forget tasks, counts, requests and faults."""
        self.store.reset()
        self.journal.reset()
        self.armed = []
