"""`./desk up` and `./desk demo`, step by step: one line for each, and a sentence when one fails."""

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from mcpdesk.embedded import preparation, processes
from mcpdesk.embedded.child import Child, Command
from mcpdesk.embedded.console import say, step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.first_admin import ensure_first_admin
from mcpdesk.embedded.keys import generate_keys, read_keys
from mcpdesk.embedded.locations import log_dir
from mcpdesk.embedded.lock import locked
from mcpdesk.embedded.postgres import Postgres
from mcpdesk.embedded.processes import Address
from mcpdesk.embedded.record import Record
from mcpdesk.embedded.signals import Signals
from mcpdesk.embedded.supervisor import StopRequested, Supervisor

DEMO_MARK = "demo"


@dataclass(frozen=True, slots=True)
class Startup:
    """One start of a desk on one data folder."""

    data: Path
    demo: bool

    def run(self) -> None:
        """Start everything, and stay until somebody stops it. Raises StartError and OSError."""
        with locked(self.data) as lock:
            left = Record(self.data).stop_all()
            if left:
                say(f"Stopped what an interrupted run had left behind: {', '.join(left)}.")
            self._make_keys()
            with Signals() as signals:
                supervisor = Supervisor(self.data, lock, signals, say)
                try:
                    self._start(supervisor)
                    supervisor.watch()
                except StopRequested:
                    say("\nStopping everything that was started here ...")
                finally:
                    supervisor.stop()
        say("Stopped.")

    def _make_keys(self) -> None:
        """Generate missing keys, then start this program again: settings read them at the start."""
        given = {"MCPDESK_SECRET_KEY", "MCPDESK_ENCRYPTION_KEYS"} <= os.environ.keys()
        if given or not settings.EMBEDDED or read_keys(self.data):
            return
        generate_keys(self.data)
        say(f"New keys: {self.data / 'secrets'} (keep a copy: without them the data is unreadable)")
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606

    def _start(self, supervisor: Supervisor) -> None:
        address, simulator = processes.bind(), processes.simulator_bind()
        for warning in preparation.check_settings():
            say(f"Warning: {warning}")
        for needed in (address, simulator) if self.demo else (address,):
            needed.require_free()
        self._start_database(supervisor)
        with step("Bringing the tables up to date"):
            preparation.migrate()
        with step("Collecting static files"):
            preparation.collect_static()
        if self.demo:
            self._start_demo(supervisor, simulator)
        elif email := ensure_first_admin():
            say(f"Created the first admin: {email}")
        preparation.leave_database()
        self._start_processes(supervisor, address)
        self._announce(address)

    def _start_database(self, supervisor: Supervisor) -> None:
        if settings.EMBEDDED:
            self._start_postgres(supervisor)
        else:
            with step("Looking for the database"):
                preparation.require_database()
        preparation.require_broker()

    def _start_postgres(self, supervisor: Supervisor) -> None:
        server = Postgres(self.data)
        self._mind_the_demo(server)
        if not server.exists:
            with step("Making the database files"):
                server.create()
        with step("Starting PostgreSQL"):
            child = supervisor.start("postgres", server.start)
            supervisor.wait_until(child, server.answers)

    def _mind_the_demo(self, server: Postgres) -> None:
        """A demo's passwords are public: keep them out of real data, and say where they are."""
        mark = self.data / DEMO_MARK
        if self.demo and server.exists and not mark.exists():
            raise StartError(
                f"{self.data} holds a real desk, and the demo would add sign-ins with public "
                "passwords. Name another data folder with MCPDESK_DATA."
            )
        if self.demo:
            mark.write_text("This data folder holds the demo: its passwords are public.\n")
        elif mark.exists():
            say(f"Warning: {self.data} holds the demo, whose passwords are public.")

    def _start_demo(self, supervisor: Supervisor, address: Address) -> None:
        from mcpdesk.web import demo

        with step("Starting the demo's MCP server"):
            child = self._run(supervisor, processes.simulator(address, self.data))
            ready = partial(processes.answers, f"{address.url}/", urlsplit(address.url).netloc)
            supervisor.wait_until(child, ready)
        with step("Filling the demo"):
            demo.seed(f"{address.url}/mcp")

    def _start_processes(self, supervisor: Supervisor, address: Address) -> None:
        with step("Starting web, worker and clock"):
            web = self._run(supervisor, processes.web(address))
            self._run(supervisor, processes.worker())
            self._run(supervisor, processes.clock())
            host = urlsplit(settings.PUBLIC_URL).netloc
            supervisor.wait_until(web, partial(processes.answers, f"{address.url}/health/", host))

    def _run(self, supervisor: Supervisor, command: Command) -> Child:
        log = log_dir(self.data) / f"{command.name}.log"
        return supervisor.start(command.name, partial(Child, command, log))

    def _announce(self, address: Address) -> None:
        say(f"\nmcpdesk is ready: {settings.PUBLIC_URL}")
        if self.demo:
            from mcpdesk.web import demo

            for role, email, password in demo.SIGN_INS:
                say(f"  {role:<10} {email:<28} {password}")
        say(f"Data: {self.data}, logs: {log_dir(self.data)}. Ctrl-C stops everything.")
