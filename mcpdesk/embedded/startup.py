"""`./desk up`, step by step: one line for each, and a sentence when one fails.

A start that finds everything prepared does not load Django here, which takes most of the time.
"""

import errno
import logging
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from mcpdesk.embedded import processes
from mcpdesk.embedded.child import Child, Command
from mcpdesk.embedded.console import say, step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.keys import generate_keys, generate_seal_key, read_keys, read_seal_keys
from mcpdesk.embedded.locations import data_dir, log_dir, public_url
from mcpdesk.embedded.lock import locked
from mcpdesk.embedded.postgres import Postgres
from mcpdesk.embedded.prepared import Prepared
from mcpdesk.embedded.processes import Address
from mcpdesk.embedded.record import Record
from mcpdesk.embedded.signals import Signals
from mcpdesk.embedded.supervisor import StopRequested, Supervisor

DEMO_MARK = "demo-sign-ins"


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

    def check_data(self) -> None:
        """Raises StartError where the data is not for this kind of start."""
        if (self.data / DEMO_MARK).exists():
            say(f"Warning: {self.data} holds the demo, whose passwords are public.")

    def start_more(self, supervisor: Supervisor) -> None:
        """Start what this kind of start needs besides. Raises StartError."""

    def fill(self) -> None:
        """See to it that somebody can sign in; Django is set up. Raises StartError."""
        from mcpdesk.embedded.first_admin import ensure_first_admin

        ensure_first_admin()

    def greet(self) -> None:
        """Say how to go on."""
        say(f"\nmcpdesk is ready: {public_url()}")

    def run_command(self, supervisor: Supervisor, command: Command) -> Child:
        """Start one more process, with a log of its own. Raises OSError."""
        log = log_dir(self.data) / f"{command.name}.log"
        return supervisor.start(command.name, partial(Child, command, log))

    def _start(self, supervisor: Supervisor) -> None:
        address = processes.bind()
        address.require_free()
        self.check_data()
        prepared = Prepared(self.data)
        if brings_database():
            self._make_keys()
            self._start_postgres(supervisor, prepared)
        self.start_more(supervisor)
        if not (brings_database() and prepared.holds()):
            prepared.forget()
            self._prepare()
            prepared.remember()
        self._start_processes(supervisor, address)
        self.greet()
        say(f"Data: {self.data}, logs: {log_dir(self.data)}. Ctrl-C stops everything.")

    def _make_keys(self) -> None:
        place = self.data / "secrets"
        given = {"MCPDESK_SECRET_KEY", "MCPDESK_ENCRYPTION_KEYS"} <= os.environ.keys()
        if not given and not read_keys(self.data):
            generate_keys(self.data)
            say(f"New keys: {place} (keep a copy: without them the data is unreadable)")
        if "MCPDESK_SEAL_KEY" not in os.environ and not read_seal_keys(self.data):
            generate_seal_key(self.data)
            say(f"New key for the seals of the log: {place / 'seal_key'}")

    def _start_postgres(self, supervisor: Supervisor, prepared: Prepared) -> None:
        server = Postgres(self.data)
        if not server.exists:
            prepared.forget()
            with step("Making the database files"):
                server.create()
        with step("Starting PostgreSQL"):
            child = supervisor.start("postgres", server.start)
            supervisor.wait_until(child, server.answers)

    def _prepare(self) -> None:
        """Load Django, here and not above, since most starts can do without."""
        with step("Loading the desk"):
            import django

            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mcpdesk.settings")
            django.setup()
            from mcpdesk.embedded import preparation
        # what happens here is said step by step; the log lines are those of the processes
        logging.disable(logging.WARNING)
        preparation.prepare(self.fill)

    def _start_processes(self, supervisor: Supervisor, address: Address) -> None:
        with step("Starting web, worker and clock"):
            web = self.run_command(supervisor, processes.web(address))
            self.run_command(supervisor, processes.worker())
            host = urlsplit(public_url()).netloc
            supervisor.wait_until(web, partial(processes.answers, f"{address.url}/health/", host))
            # last, since each of them takes a core while it loads, and this one is never waited for
            self.run_command(supervisor, processes.clock())


def brings_database() -> bool:
    """Whether the desk brings its own database."""
    return "DATABASE_URL" not in os.environ


def main(kind: type[Startup]) -> int:
    """Start, stay, stop; returns the exit status, after a sentence where it is not 0."""
    try:
        kind(data_dir()).run()
    except StartError as error:
        print(f"desk: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        print(f"desk: {_explain(error)}", file=sys.stderr, flush=True)
        return 1
    return 0


def _explain(error: OSError) -> str:
    place = error.filename or data_dir()
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{place}: the disk is full. Free some space and start again."
    return f"{place}: {error.strerror or error}."


if __name__ == "__main__":
    sys.exit(main(Startup))
