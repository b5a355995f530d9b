"""`./desk up` as a person runs it: real processes, a data folder and a port of its own."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.conftest import free_port
from tests.setup.conftest import CHECKOUT, eventually, lives

ADMIN = {
    "MCPDESK_ADMIN_EMAIL": "first@example.org",
    "MCPDESK_ADMIN_PASSWORD": "correct-horse-battery-7",
}
# what `./desk test` gives the tests belongs to its own services
NOT_OURS = {"DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE"}
NOT_OURS |= {"MCPDESK_SECRET_KEY", "MCPDESK_ENCRYPTION_KEYS", "MCPDESK_SEAL_KEY", "MCPDESK_URL"}


class Desk:
    """A `./desk up` that was started, and what it has said."""

    def __init__(self, data: Path, port: int, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mcpdesk.embedded.startup"],
            cwd=CHECKOUT,
            env=inherited
            | {"MCPDESK_DATA": str(data), "MCPDESK_BIND": f"127.0.0.1:{port}"}
            | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""

    def read_until(self, pattern: str) -> re.Match[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if match := re.search(pattern, line):
                return match
        raise AssertionError(f"{pattern!r} never came:\n{self.said}")

    def end(self) -> int:
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        return self.process.wait(timeout=60)

    def processes(self) -> dict[str, int]:
        """Its processes, by a word of their command lines."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            words = " ".join(child.cmdline())
            for name in ("bin/postgres", "uvicorn", "celery", "manage.py clock"):
                if name in words:
                    found[name] = child.pid
        return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def running(data: Path, port: int) -> Iterator[Desk]:
    """A desk that was started for the first time and is ready."""
    desk = Desk(data, port, **ADMIN)
    desk.read_until("^Data: ")
    yield desk
    if desk.process.poll() is None:
        desk.process.terminate()
        desk.end()


def test_a_start_without_anybody_who_could_sign_in_says_what_to_set(data: Path, port: int) -> None:
    desk = Desk(data, port)
    assert desk.end() == 1
    assert "MCPDESK_ADMIN_EMAIL and MCPDESK_ADMIN_PASSWORD" in desk.said
    assert "Traceback" not in desk.said


def test_the_first_start_makes_the_first_admin_and_ends_in_an_address(
    running: Desk, port: int
) -> None:
    assert "Created the first admin: first@example.org" in running.said
    assert f"mcpdesk is ready: http://127.0.0.1:{port}\n" in running.said
    assert ADMIN["MCPDESK_ADMIN_PASSWORD"] not in running.said
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/", timeout=10) as answer:
        assert answer.status == 200


def test_it_runs_a_database_a_web_process_a_worker_and_a_clock(running: Desk) -> None:
    assert set(running.processes()) == {"bin/postgres", "uvicorn", "celery", "manage.py clock"}


def test_a_command_started_by_hand_finds_its_database(running: Desk, data: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    result = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--check"],
        cwd=CHECKOUT,
        env=environment | {"MCPDESK_DATA": str(data)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_port_that_is_taken_is_named_and_nothing_is_left(
    running: Desk, port: int, tmp_path: Path
) -> None:
    second = Desk(tmp_path / "other", port, **ADMIN)
    assert second.end() == 1
    assert f"Port {port} of 127.0.0.1 is taken" in second.said
    assert "MCPDESK_BIND=" in second.said


def test_a_second_start_on_the_same_data_is_refused(running: Desk, data: Path) -> None:
    second = Desk(data, free_port())
    assert second.end() == 1
    assert f"A desk runs on {data} already (process {running.process.pid})" in second.said


def test_a_killed_database_is_started_again_and_the_pages_come_back(
    running: Desk, port: int
) -> None:
    os.kill(running.processes()["bin/postgres"], signal.SIGKILL)
    running.read_until("postgres was killed by signal 9")
    running.read_until("postgres is started again")
    assert eventually(lambda: _sign_in_page_answers(port))


def test_a_request_to_stop_leaves_no_process(running: Desk) -> None:
    pids = running.processes().values()
    running.process.send_signal(signal.SIGINT)
    assert running.end() == 0
    assert running.said.endswith("Stopped.\n")
    assert not any(lives(pid) for pid in pids)


def test_the_next_start_keeps_the_data_and_prepares_nothing(
    running: Desk, data: Path, port: int
) -> None:
    assert running.process.poll() == 0
    again = Desk(data, port)
    again.read_until("^Data: ")
    assert "first admin" not in again.said
    assert "Loading the desk" not in again.said
    pids = again.processes().values()
    again.process.kill()
    again.process.wait()
    assert eventually(lambda: not any(lives(pid) for pid in pids), 30)


@pytest.fixture
def own_database() -> Iterator[str]:
    """The address of a new database on the server of the tests."""
    if "DATABASE_URL" not in os.environ or "MCPDESK_TEST_REDIS_URL" not in os.environ:
        pytest.skip("needs the services of `./desk test`")
    name = "whole_desk"
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield re.sub(r"/mcpdesk\?", f"/{name}?", os.environ["DATABASE_URL"])
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_database_and_a_redis_of_ones_own_replace_the_embedded_ones(
    own_database: str, tmp_path: Path
) -> None:
    port = free_port()
    given = {
        "DATABASE_URL": own_database,
        "REDIS_URL": os.environ["MCPDESK_TEST_REDIS_URL"],
        "MCPDESK_SECRET_KEY": "k" * 50,
        "MCPDESK_ENCRYPTION_KEYS": "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=",
        "MCPDESK_SEAL_KEY": "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=",
    }
    desk = Desk(tmp_path, port, **ADMIN, **given)
    desk.read_until("^Data: ")
    assert set(desk.processes()) == {"uvicorn", "celery", "manage.py clock"}
    assert _sign_in_page_answers(port)
    assert not (tmp_path / "postgres").exists()
    assert not (tmp_path / "secrets").exists()
    desk.process.terminate()
    assert desk.end() == 0


def test_without_keys_a_database_of_ones_own_is_refused_with_what_to_set(
    own_database: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, free_port(), **ADMIN, DATABASE_URL=own_database)
    assert desk.end() == 1
    assert "MCPDESK_SECRET_KEY is not set" in desk.said
    assert "MCPDESK_ENCRYPTION_KEYS is not set" in desk.said
    assert "MCPDESK_SEAL_KEY is not set" in desk.said
    assert "Traceback" not in desk.said


def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        free_port(),
        DATABASE_URL=f"postgresql://me:hush@127.0.0.1:{free_port()}/desk",
        MCPDESK_SECRET_KEY="k" * 50,
        MCPDESK_ENCRYPTION_KEYS="dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=",
        MCPDESK_SEAL_KEY="dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=",
    )
    assert desk.end() == 1
    assert "The database 'desk' on 127.0.0.1 (DATABASE_URL) does not answer" in desk.said
    assert "hush" not in desk.said


def _sign_in_page_answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/accounts/login/", timeout=10) as page:
            return bool(page.status == 200)
    except OSError:
        return False
