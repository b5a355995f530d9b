"""The processes of a desk, and the address it listens on."""

import errno
import os
import signal
import socket
import sys
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from mcpdesk.embedded.child import Command
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import CHECKOUT, DEFAULT_BIND

WORKER_THREADS = 8
SIMULATOR = "127.0.0.1:8650"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a TCP port to listen on, and the environment variable that named it."""

    host: str
    port: int
    variable: str

    @classmethod
    def parse(cls, text: str, variable: str) -> "Address":
        """`host:port`, `[ipv6]:port` or `:port` (this machine only). Raises StartError."""
        host, _, port = text.rpartition(":")
        if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise StartError(f"{variable} is not host:port: {text}. An example: {DEFAULT_BIND}.")
        return cls(host.strip("[]") or "127.0.0.1", int(port), variable)

    @property
    def url(self) -> str:
        """How a browser on this machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def require_free(self) -> None:
        """Raises StartError where something listens there already, or nothing may."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # as uvicorn does: a port whose last connections are still closing is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                raise StartError(self._why_not(error)) from error

    def _why_not(self, error: OSError) -> str:
        other = f"name another address, such as {self.variable}=127.0.0.1:{self.port + 1}"
        if error.errno == errno.EADDRINUSE:
            return (
                f"Port {self.port} of {self.host} is taken by another program: stop it, or {other}."
            )
        return (
            f"Nothing can listen on {self.host}:{self.port} ({error.strerror or error}): {other}."
        )


def bind() -> Address:
    """Where the web process listens: MCPDESK_BIND."""
    return Address.parse(os.environ.get("MCPDESK_BIND") or DEFAULT_BIND, "MCPDESK_BIND")


def simulator_bind() -> Address:
    """Where the demo's server listens: MCPDESK_SIMULATOR_BIND."""
    variable = "MCPDESK_SIMULATOR_BIND"
    return Address.parse(os.environ.get(variable) or SIMULATOR, variable)


def web(address: Address) -> Command:
    """The pages, the live updates and the health check."""
    return _python(
        *("web", "-m", "uvicorn", "mcpdesk.asgi:application"),
        *("--host", address.host, "--port", str(address.port)),
        *("--lifespan", "off", "--no-access-log", "--log-level", "warning"),
        *("--timeout-graceful-shutdown", "3"),
    )


def worker() -> Command:
    """The engine: claims rows, talks to servers.

    It finishes what it is sending before it stops: a call cut short would end as `unknown`.
    """
    command = _python(
        *("worker", "-m", "celery", "--app", "mcpdesk", "worker"),
        *("--pool", "threads", "--concurrency", str(WORKER_THREADS), "--loglevel", "INFO"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    )
    # the checks of the code are for the tests: they cost each start a second
    environment = {**command.environment, "CELERY_SKIP_CHECKS": "true"}
    return replace(command, patience_s=35.0, environment=environment)


def clock() -> Command:
    """Rings for work that nobody rang for."""
    return _python("clock", str(CHECKOUT / "manage.py"), "clock", "--skip-checks")


def simulator(address: Address, data: Path) -> Command:
    """The demo's MCP server; it remembers its tasks over restarts."""
    return _python(
        *("simulator", "-m", "mcpdesk.simulator"),
        *("--host", address.host, "--port", str(address.port)),
        *("--state", str(data / "simulator.sqlite3"), "--tools", "demo"),
    )


def replace_this_process(command: Command) -> None:
    """Become that process, for a supervisor of the person's own (systemd, a container)."""
    os.chdir(CHECKOUT)
    os.execvpe(command.argv[0], list(command.argv), os.environ | command.environment)  # noqa: S606


def answers(url: str, host: str) -> bool:
    """Whether an HTTP server answers there, in the name of a host, and not with a failure."""
    scheme_and_place, _, path = url.partition("://")[2].partition("/")
    connection = HTTPConnection(scheme_and_place, timeout=5)
    try:
        connection.request("GET", f"/{path}", headers={"Host": host})
        return connection.getresponse().status < 500
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _python(name: str, *arguments: str) -> Command:
    return Command(
        name,
        (sys.executable, *arguments),
        environment={"PYTHONUNBUFFERED": "1", "DJANGO_SETTINGS_MODULE": "mcpdesk.settings"},
        stop_signal=signal.SIGTERM,
        arguments={"cwd": CHECKOUT},
    )
