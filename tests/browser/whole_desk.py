"""The whole product for tests: web, worker and clock as processes of their own, on a free port."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from mcpdesk.embedded import processes
from mcpdesk.embedded.child import Child, Command, tail
from mcpdesk.embedded.processes import Address
from tests.conftest import free_port

START_S = 60.0
PARTS = ("web", "worker", "clock")
LAST_LINES = 8
LINE_CHARS = 400


@dataclass(slots=True)
class WholeDesk:
    """One desk. `environment` says which database, broker and channel layer it stands on."""

    folder: Path
    environment: Mapping[str, str]
    port: int = field(default_factory=free_port)
    _children: dict[str, Child] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *names: str) -> None:
        """Start these processes (all of them if none is named), and wait until the web answers."""
        for name in names or PARTS:
            assert name not in self._children, f"{name} runs already"
            self._children[name] = Child(self._command(name), self.folder / f"{name}.log")
        if "web" in self._children:
            self._wait_for_web()

    def kill(self, *names: str) -> None:
        """SIGKILL for these processes, or for all that run."""
        for name in names or tuple(self._children):
            self._children.pop(name).kill()

    def _command(self, name: str) -> Command:
        """The product's own command, with the settings of the tests."""
        address = Address("127.0.0.1", self.port, "MCPDESK_BIND")
        commands = {
            "web": lambda: processes.web(address),
            "worker": processes.worker,
            "clock": processes.clock,
        }
        command = commands[name]()
        ours = {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "MCPDESK_DATA": str(self.folder),
            "MCPDESK_BIND": f"127.0.0.1:{self.port}",
            "MCPDESK_URL": self.url,
        }
        return replace(command, environment={**command.environment, **ours, **self.environment})

    def _wait_for_web(self) -> None:
        web = self._children["web"]
        deadline = time.monotonic() + START_S
        while not processes.answers(f"{self.url}/health/", urlsplit(self.url).netloc):
            assert web.ended() is None, f"the web process ended:\n{tail(web.log)}"
            assert time.monotonic() < deadline, f"the web process is silent:\n{tail(web.log)}"
            time.sleep(0.05)

    def last_words(self, name: str) -> str:
        """What a process wrote last, for the report of a failure; long lines are cut."""
        lines = tail(self.folder / f"{name}.log", LAST_LINES).splitlines()
        return "\n".join(line[:LINE_CHARS] for line in lines)
