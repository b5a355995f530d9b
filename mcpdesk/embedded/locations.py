"""Where the embedded default keeps its files. Pure paths: no Django, nothing is created here.

Every process of one desk computes the same places from the same data folder, so a
`./desk COMMAND` started by hand finds the database that `./desk up` runs.
"""

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

CHECKOUT = Path(__file__).resolve().parents[2]

DEFAULT_BIND = "127.0.0.1:8642"
DATABASE_NAME = "mcpdesk"
DATABASE_USER = "mcpdesk"

# PostgreSQL names its socket after the port, also where no port is opened.
SOCKET_NAME = ".s.PGSQL.5432"

# sun_path holds 108 bytes on Linux and 104 on macOS, with the closing zero byte.
MAX_SOCKET_PATH_BYTES = 103


def data_dir() -> Path:
    """The folder of everything that must outlive a restart: MCPDESK_DATA, else `var` here.

    `./desk demo` has a folder of its own inside it. A command started by hand beside a running
    demo means that one.
    """
    chosen = os.environ.get("MCPDESK_DATA")
    if chosen:
        return Path(chosen).expanduser().resolve()
    desk, demo = CHECKOUT / "var", CHECKOUT / "var" / "demo"
    return demo if running(demo) and not running(desk) else desk


def pid_file(data: Path) -> Path:
    """Names the process that runs a desk on this data folder."""
    return data / "desk.pid"


def running(data: Path) -> int | None:
    """The process that runs a desk on this data folder, if one does."""
    try:
        pid = int(pid_file(data).read_text())
        os.kill(pid, 0)
    except PermissionError:
        return pid
    except (OSError, ValueError):
        return None
    return pid


def local_url() -> str:
    """How a browser on this machine reaches the web process: made from MCPDESK_BIND."""
    host, _, port = (os.environ.get("MCPDESK_BIND") or DEFAULT_BIND).rpartition(":")
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
    return f"http://{host}:{port}"


def public_url() -> str:
    """The address people use: MCPDESK_URL, without a slash at its end."""
    return (os.environ.get("MCPDESK_URL") or local_url()).rstrip("/")


def postgres_dir(data: Path) -> Path:
    """The folder of the embedded PostgreSQL's own files (its "data directory")."""
    return data / "postgres"


def socket_dir(data: Path) -> Path:
    """The folder of the database's socket: inside the data folder, unless that path is too long.

    The short replacement is derived from the data folder's path alone, never from TMPDIR,
    which may differ between two shells of one person.
    """
    inside = data / "run"
    if len(os.fsencode(inside / SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES:
        return inside
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    return Path("/tmp") / f"mcpdesk-{digest}"  # noqa: S108 - made 0700, and its owner is checked


def database_url(data: Path) -> str:
    """The address of the embedded server's database; it answers only while the desk runs."""
    host = quote(str(socket_dir(data)), safe="/")
    return f"postgresql://{DATABASE_USER}@/{DATABASE_NAME}?host={host}"


def broker_dir(data: Path) -> Path:
    """The folder of Celery's filesystem broker."""
    return data / "broker"


def log_dir(data: Path) -> Path:
    """The folder of one log file per supervised process."""
    return data / "log"


def secrets_dir(data: Path) -> Path:
    """The folder of the generated keys; only its owner may read it."""
    return data / "secrets"
