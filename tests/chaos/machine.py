"""A machine of its own: a durable PostgreSQL, a simulator, and a desk whose processes can die."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcpdesk.embedded.child import Child
from mcpdesk.embedded.locations import database_url
from mcpdesk.embedded.postgres import Postgres
from tests.conftest import CHECKOUT
from tests.simulator.process import SimulatorProcess

Json = dict[str, Any]

PATIENCE_S = 30.0
AFTER_LEASES = timedelta(seconds=60)
"""Longer than any lease of these tests."""


class Machine:
    """Everything that one desk runs on. PostgreSQL writes to disk as in production."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mcpdesk-chaos-"))
        # root's PostgreSQL runs as another account, which has to pass through
        self._folder.chmod(0o711)
        # after a kill it syncs the file system, not each of its thousand files: durable, and faster
        self._postgres = Postgres(self._folder, {"recovery_init_sync_method": "syncfs"})
        self._server: Child | None = None
        self._desk: subprocess.Popen[str] | None = None
        self.simulator = SimulatorProcess("--state", str(self._folder / "simulator.sqlite3"))

    def __enter__(self) -> Self:
        self._postgres.create()
        self.start_postgres()
        self.simulator.start()
        self._desk = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.desk_process"],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self._folder / "desk.log").open("w"),
            text=True,
            env=os.environ
            | {
                "DATABASE_URL": database_url(self._folder),
                "DJANGO_SETTINGS_MODULE": "tests.settings",
                "CELERY_BROKER_URL": "memory://",
                "MCPDESK_DATA": str(self._folder),
                "MCPDESK_LEASE_MARGIN_S": "1",
                "REDIS_URL": "",
            },
        )
        self.do("migrate")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._desk is not None and self._desk.stdin is not None:
            self._desk.stdin.close()
            self._desk.wait(10)
        self.simulator.kill()
        self.kill_postgres()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def postgres_pid(self) -> int:
        """The process group of the database server."""
        assert self._server is not None
        return self._server.pid

    def start_postgres(self) -> None:
        """Start, and wait until it answers: after a kill it recovers first."""
        self._server = self._postgres.start()
        deadline = time.monotonic() + PATIENCE_S
        while not self._postgres.answers():
            assert time.monotonic() < deadline, self._postgres.why_it_ended()
            time.sleep(0.02)

    def kill_postgres(self) -> None:
        """SIGKILL for the server and all its sessions."""
        if self._server is not None:
            self._server.kill()

    def restart_postgres(self) -> None:
        self.kill_postgres()
        self.start_postgres()

    def done_in_the_end(self, nonce: str) -> int:
        """How often the work was done, once the server has finished what it had begun."""
        deadline = time.monotonic() + 5
        while True:
            effects = self.simulator.side_effects()
            done: int = effects["by_nonce"].get(nonce, 0)
            begun = effects["started_by_nonce"].get(nonce, 0)
            if done >= begun or time.monotonic() > deadline:
                return done
            time.sleep(0.02)

    def do(self, command: str, **members: Any) -> Json | None:
        """Run a command of the desk in a process of its own; None where that was killed."""
        assert self._desk is not None
        assert self._desk.stdin is not None
        assert self._desk.stdout is not None
        self._desk.stdin.write(json.dumps({"do": command, **members}) + "\n")
        self._desk.stdin.flush()
        line = self._desk.stdout.readline()
        assert line, (self._folder / "desk.log").read_text()[-4000:]
        answer: Json | None = json.loads(line)
        assert not answer or "error" not in answer, answer
        return answer


class Story:
    """One operation on that machine, from its start to its end, with a death on the way."""

    def __init__(self, machine: Machine, tool: str, nonce: str, **arguments: Any) -> None:
        self.machine = machine
        self.nonce = nonce
        self.now = datetime.now(UTC)
        machine.simulator.reset()
        begun = machine.do(
            "begin",
            url=machine.simulator.url,
            tool=tool,
            arguments={"nonce": nonce, **arguments},
            now=self.now.isoformat(),
        )
        assert begun is not None
        self._operation = begun["operation"]

    def work(self, *, answers: bool = True, **more: Any) -> bool:
        """Work until it rests; False where the process was killed on the way."""
        done = self._do("work", answers=answers, origin=self.machine.simulator.origin, **more)
        if done is None:
            return False
        self.now = datetime.fromisoformat(done["now"])
        return True

    def dies(self, at: str, kind: str, nth: int = 1, *, postgres: bool) -> None:
        """Work until the process is killed there (and PostgreSQL with it), and start again."""
        point: Json = {"at": at, "kind": kind, "nth": nth}
        if postgres:
            point["postgres"] = self.machine.postgres_pid
        assert not self.work(die=point), f"it never came to {point}"
        self._start_again(postgres)

    def dies_deciding(self, *, postgres: bool) -> None:
        """The process is killed right after a decision was committed."""
        pid = {"postgres": self.machine.postgres_pid} if postgres else {}
        assert not self.work(dies_deciding={"at": "decided", **pid})
        self._start_again(postgres)

    def _start_again(self, postgres: bool) -> None:
        if postgres:
            self.machine.restart_postgres()
        self.now += AFTER_LEASES

    def cancel(self) -> None:
        self._do("cancel")

    def report(self) -> Json:
        """What the database says now."""
        report = self._do("report")
        assert report is not None
        return report

    def _do(self, command: str, **more: Any) -> Json | None:
        return self.machine.do(command, operation=self._operation, now=self.now.isoformat(), **more)
