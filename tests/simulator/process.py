"""A simulator as a process of its own, for any test that needs a real peer."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]


class SimulatorProcess:
    """Starts on entering and is killed on leaving.

    `options` are those of the command line, without --port. The port stays the same over
    `restart`, so that a client finds the server again.
    """

    def __init__(self, *options: str) -> None:
        self.options = options
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return f"{self.origin}/mcp"

    def start(self) -> None:
        """Start, and return once the port is open (the server says so in its first line)."""
        command = [sys.executable, "-m", "mcpdesk.simulator", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, *self.options], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("Simulator at "), f"The simulator did not start: {line!r}"
        self.port = int(line.rsplit(":", 1)[1].split("/")[0])

    def kill(self) -> None:
        """End at once, as SIGKILL does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def restart(self) -> None:
        """Kill, and start again on the same port."""
        self.kill()
        self.start()

    def get(self, path: str) -> Any:
        """The JSON of a control endpoint."""
        with urlopen(f"{self.origin}{path}", timeout=10) as response:
            return json.load(response)

    def post(self, path: str, body: object = None) -> Any:
        """Send JSON to a control endpoint and read its answer."""
        data = json.dumps(body).encode()
        with urlopen(Request(f"{self.origin}{path}", data), timeout=10) as response:
            return json.load(response)

    def side_effects(self) -> dict[str, Any]:
        """What was really done (GET /side-effects)."""
        report: dict[str, Any] = self.get("/side-effects")
        return report

    def done(self, nonce: str) -> int:
        """How often the work of this nonce was really done."""
        return int(self.side_effects()["by_nonce"].get(nonce, 0))

    def requests(self) -> dict[str, Any]:
        """What was asked (GET /requests)."""
        report: dict[str, Any] = self.get("/requests")
        return report

    def reset(self) -> None:
        """Forget tasks, counts, requests and faults."""
        self.post("/reset")
