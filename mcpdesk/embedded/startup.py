"""`./desk up`, step by step: one line for each, and a sentence when one fails."""

import logging
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

    def check_data(self) -> None:
        """Raises StartError where the data is not for this kind of start."""
        if (self.data / DEMO_MARK).exists():
            say(f"Warning: {self.data} holds the demo, whose passwords are public.")

    def fill(self, supervisor: Supervisor) -> None:
        """See to it that somebody can sign in. Raises StartError."""
        if email := ensure_first_admin():
            say(f"Created the first admin: {email}")

    def greet(self) -> None:
        """Say how to go on."""
        say(f"\nmcpdesk is ready: {settings.PUBLIC_URL}")

    def run_command(self, supervisor: Supervisor, command: Command) -> Child:
        """Start one more process, with a log of its own. Raises OSError."""
        log = log_dir(self.data) / f"{command.name}.log"
        return supervisor.start(command.name, partial(Child, command, log))

    def _start(self, supervisor: Supervisor) -> None:
        # what happens here is said step by step; the log lines are those of the processes
        logging.disable(logging.WARNING)
        for warning in preparation.check_settings():
            say(f"Warning: {warning}")
        address = processes.bind()
        address.require_free()
        self.check_data()
        self._start_database(supervisor)
        with step("Bringing the tables up to date"):
            preparation.migrate()
        with step("Collecting static files"):
            preparation.collect_static()
        self.fill(supervisor)
        preparation.leave_database()
        self._start_processes(supervisor, address)
        self.greet()
        say(f"Data: {self.data}, logs: {log_dir(self.data)}. Ctrl-C stops everything.")

    def _start_database(self, supervisor: Supervisor) -> None:
        if settings.EMBEDDED:
            self._start_postgres(supervisor)
        else:
            with step("Looking for the database"):
                preparation.require_database()
        preparation.require_broker()

    def _start_postgres(self, supervisor: Supervisor) -> None:
        server = Postgres(self.data)
        if not server.exists:
            with step("Making the database files"):
                server.create()
        with step("Starting PostgreSQL"):
            child = supervisor.start("postgres", server.start)
            supervisor.wait_until(child, server.answers)

    def _start_processes(self, supervisor: Supervisor, address: Address) -> None:
        with step("Starting web, worker and clock"):
            web = self.run_command(supervisor, processes.web(address))
            self.run_command(supervisor, processes.worker())
            self.run_command(supervisor, processes.clock())
            host = urlsplit(settings.PUBLIC_URL).netloc
            supervisor.wait_until(web, partial(processes.answers, f"{address.url}/health/", host))
