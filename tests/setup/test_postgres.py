import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from mcpdesk.embedded.child import Child
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.identity import identity_for
from mcpdesk.embedded.locations import SOCKET_NAME, database_url, socket_dir
from mcpdesk.embedded.postgres import Postgres, explain, programs
from tests.setup.conftest import eventually


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the files of a database; closed to everybody but its owner."""
    folder = tmp_path_factory.mktemp("desk")
    folder.chmod(0o700)
    Postgres(folder).create()
    return folder


@pytest.fixture
def servers(data: Path) -> Iterator[list[Child]]:
    """What a test has started; none of it outlives the test."""
    children: list[Child] = []
    yield children
    for child in children:
        child.ask_to_stop()
        eventually(lambda child=child: child.ended() is not None)


def start(data: Path, servers: list[Child]) -> Child:
    server = Postgres(data)
    servers.append(server.start())
    assert eventually(server.answers), server.why_it_ended()
    return servers[-1]


def test_it_answers_at_the_address_that_every_process_computes(
    data: Path, servers: list[Child]
) -> None:
    start(data, servers)
    with psycopg.connect(database_url(data)) as connection:
        row = connection.execute("SELECT current_database(), inet_server_port()").fetchone()
    assert row == ("mcpdesk", None)


def test_what_was_committed_survives_sigkill(data: Path, servers: list[Child]) -> None:
    server = start(data, servers)
    with psycopg.connect(database_url(data), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        server.kill()
    start(data, servers)
    with psycopg.connect(database_url(data)) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_a_record_that_names_some_other_program_does_not_stop_the_start(
    data: Path, servers: list[Child]
) -> None:
    # what a container finds after a restart: the old number belongs to somebody else now
    record = data / "postgres" / "postmaster.pid"
    record.write_text(f"{os.getppid()}\n{data / 'postgres'}\n")
    start(data, servers)


def test_a_sockets_lock_that_names_some_other_program_does_not_stop_the_start(
    data: Path, servers: list[Child]
) -> None:
    # what everything killed at once leaves behind: the number is a zombie's, or somebody else's
    earlier = start(data, servers)
    earlier.ask_to_stop()
    assert eventually(lambda: earlier.ended() is not None)
    account = identity_for(data / "postgres", programs() / "postgres")
    sleep = [*account.prefix, "sleep", "600"]
    other = subprocess.Popen(sleep, cwd="/", **account.arguments())
    try:
        lock = socket_dir(data) / f"{SOCKET_NAME}.lock"
        lock.write_text(f"{other.pid}\n{data / 'postgres'}\n1\n5432\n{socket_dir(data)}\n")
        shutil.chown(lock, (data / "postgres").stat().st_uid)
        start(data, servers)
    finally:
        other.kill()
        other.wait()


def test_a_server_that_runs_on_the_folder_already_is_refused_by_its_number(
    data: Path, servers: list[Child]
) -> None:
    running = start(data, servers)
    with pytest.raises(StartError, match=rf"process {running.pid}.*MCPDESK_DATA"):
        Postgres(data).start()


def test_files_of_another_version_are_refused_with_a_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    folder.mkdir()
    (folder / "PG_VERSION").write_text("16\n")
    with pytest.raises(StartError, match=r"PostgreSQL 16, and .* PostgreSQL 18.*pg_dump"):
        Postgres(tmp_path).start()


def test_a_socket_path_that_is_too_long_is_replaced_by_a_short_one(tmp_path: Path) -> None:
    server = Postgres(tmp_path / ("long" * 30))
    assert len(os.fsencode(server.sockets / ".s.PGSQL.5432")) <= 103
    assert server.sockets == Postgres(tmp_path / ("long" * 30)).sockets
    assert server.sockets != Postgres(tmp_path / ("other" * 30)).sockets


def test_an_interrupted_creation_is_done_again(tmp_path: Path) -> None:
    half = tmp_path / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    server = Postgres(tmp_path)
    assert not server.exists
    server.create()
    assert server.exists
    assert not half.exists()


def test_its_files_are_closed_to_others(data: Path) -> None:
    assert (data / "postgres").stat().st_mode & 0o077 == 0


def test_a_folder_of_another_user_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path.owner()
    monkeypatch.setattr(os, "geteuid", lambda: 47110815)
    with pytest.raises(StartError, match=f"belongs to {owner}.*MCPDESK_DATA"):
        identity_for(tmp_path, programs() / "postgres")


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ('FATAL: could not write to file "x": No space left on device', "the disk is full"),
        ("FATAL: could not open file: Read-only file system", "MCPDESK_DATA"),
        ("FATAL: something new", "its own words are"),
    ],
)
def test_its_words_are_shown_with_what_to_do(words: str, advice: str) -> None:
    sentence = explain(f"LOG: one\n{words}")
    assert advice in sentence
    assert words in sentence


def test_what_stands_in_a_statement_that_fails_is_not_logged(
    data: Path, servers: list[Child]
) -> None:
    start(data, servers)
    with psycopg.connect(database_url(data), autocommit=True) as connection:
        connection.execute("CREATE TABLE words (word text PRIMARY KEY)")
        for _ in range(2):
            with suppress(psycopg.errors.UniqueViolation):
                connection.execute("INSERT INTO words VALUES ('a-reason-of-somebody')")
    log = Postgres(data).log.read_text()
    assert "duplicate key" in log
    assert "a-reason-of-somebody" not in log
