import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.celery import app, make_broker_folders
from mcpdesk.embedded import child, locations, testing
from mcpdesk.embedded.backoff import FIRST_DELAY_S, LONG_LIFE_S, MAX_QUICK_DEATHS, Backoff
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.keys import generate_keys, read_keys
from mcpdesk.embedded.processes import Address


class TestKeys:
    def test_they_are_for_their_owner_alone(self, tmp_path: Path) -> None:
        keys = generate_keys(tmp_path)
        assert read_keys(tmp_path) == keys
        assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
        assert all(f.stat().st_mode & 0o077 == 0 for f in (tmp_path / "secrets").iterdir())

    def test_they_are_never_generated_behind_a_database(self, tmp_path: Path) -> None:
        (tmp_path / "postgres").mkdir()
        with pytest.raises(StartError, match="MCPDESK_ENCRYPTION_KEYS"):
            generate_keys(tmp_path)
        assert read_keys(tmp_path) is None

    def test_they_do_not_show_themselves(self, tmp_path: Path) -> None:
        keys = generate_keys(tmp_path)
        assert keys.secret_key not in repr(keys)


class TestFolders:
    def test_logs_are_for_their_owner_alone(self, tmp_path: Path) -> None:
        command = child.Command("one", [sys.executable, "-c", ""])
        child.Child(command, tmp_path / "log" / "one.log").kill()
        assert (tmp_path / "log").stat().st_mode & 0o077 == 0

    def test_the_brokers_orders_are_for_their_owner_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folders = {
            "data_folder_in": str(tmp_path / "b/queue"),
            "control_folder": str(tmp_path / "c"),
        }
        monkeypatch.setitem(app.conf, "broker_transport_options", folders)
        make_broker_folders()
        assert all(Path(folder).stat().st_mode & 0o077 == 0 for folder in folders.values())


class TestAddress:
    @pytest.mark.parametrize(
        ("text", "host", "port", "url"),
        [
            ("127.0.0.1:8642", "127.0.0.1", 8642, "http://127.0.0.1:8642"),
            (":80", "127.0.0.1", 80, "http://127.0.0.1:80"),
            ("0.0.0.0:8642", "0.0.0.0", 8642, "http://127.0.0.1:8642"),
            ("[::1]:8642", "::1", 8642, "http://[::1]:8642"),
        ],
    )
    def test_it_is_a_host_and_a_port(self, text: str, host: str, port: int, url: str) -> None:
        address = Address.parse(text, "MCPDESK_BIND")
        assert (address.host, address.port, address.url) == (host, port, url)

    @pytest.mark.parametrize("text", ["8642x", "localhost", "localhost:", "a:0", "a:65536", "a:٣"])
    def test_anything_else_is_refused_by_the_name_of_its_variable(self, text: str) -> None:
        with pytest.raises(StartError, match="MCPDESK_BIND is not host:port"):
            Address.parse(text, "MCPDESK_BIND")

    def test_a_taken_port_is_named_with_the_variable_that_moves_it(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(StartError, match=rf"Port {port} .*MCPDESK_BIND="):
                Address("127.0.0.1", port, "MCPDESK_BIND").require_free()

    def test_an_address_of_another_machine_is_refused(self) -> None:
        with pytest.raises(StartError, match="MCPDESK_BIND="):
            Address("192.0.2.1", 8642, "MCPDESK_BIND").require_free()


class TestLocalUrl:
    @pytest.mark.parametrize(
        ("bind", "url"),
        [
            ("", "http://127.0.0.1:8642"),
            ("127.0.0.1:9", "http://127.0.0.1:9"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
        ],
    )
    def test_it_follows_the_address_that_is_bound(
        self, bind: str, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MCPDESK_BIND", bind)
        assert locations.local_url() == url


class TestDataFolder:
    @pytest.fixture(autouse=True)
    def checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.delenv("MCPDESK_DATA", raising=False)
        monkeypatch.setattr(locations, "CHECKOUT", tmp_path)
        (tmp_path / "var" / "demo").mkdir(parents=True)
        return tmp_path

    def test_the_environment_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MCPDESK_DATA", "/some/where")
        assert locations.data_dir() == Path("/some/where")

    def test_a_command_beside_a_running_demo_means_the_demo(self, checkout: Path) -> None:
        (checkout / "var" / "demo" / "desk.pid").write_text(str(os.getpid()))
        assert locations.data_dir() == checkout / "var" / "demo"

    def test_a_demo_that_was_killed_is_not_meant(self, checkout: Path) -> None:
        (checkout / "var" / "demo" / "desk.pid").write_text("999999999")
        assert locations.data_dir() == checkout / "var"


class TestBackoff:
    @given(st.lists(st.floats(min_value=0, max_value=LONG_LIFE_S, exclude_max=True), min_size=5))
    def test_five_quick_deaths_in_a_row_are_enough(self, lives: list[float]) -> None:
        backoff = Backoff()
        delays = [backoff.delay_s(lived) for lived in lives[:MAX_QUICK_DEATHS]]
        assert delays[-1] is None
        assert None not in delays[:-1]
        assert delays[:-1] == sorted(delays[:-1], key=lambda delay: delay or 0)

    def test_a_long_life_in_between_starts_the_count_again(self) -> None:
        backoff = Backoff()
        for _ in range(MAX_QUICK_DEATHS - 1):
            backoff.delay_s(0)
        assert backoff.delay_s(LONG_LIFE_S) == FIRST_DELAY_S
        assert backoff.delay_s(0) == FIRST_DELAY_S


class TestLog:
    def test_a_log_that_grew_too_big_is_moved_aside_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(child, "MAX_LOG_BYTES", 10)
        log = tmp_path / "web.log"
        with log.open("ab") as writer:
            writer.write(b"a long line\n")
            writer.flush()
            child.bound_log(log)
            writer.write(b"next\n")
        assert log.read_bytes() == b"next\n"
        assert (tmp_path / "web.log.1").read_bytes() == b"a long line\n"

    def test_its_tail_is_its_last_lines(self, tmp_path: Path) -> None:
        log = tmp_path / "web.log"
        log.write_bytes(b"".join(b"line %d \xff\n" % number for number in range(5000)))
        assert child.tail(log, lines=2).splitlines() == ["line 4998 �", "line 4999 �"]

    def test_the_tail_of_no_log_is_empty(self, tmp_path: Path) -> None:
        assert child.tail(tmp_path / "none") == ""


class TestReport:
    def test_the_closing_line_counts_what_pytest_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        report = tmp_path / "junit.xml"
        report.write_text(
            '<testsuites><testsuite tests="7" failures="1" errors="2" skipped="1"/></testsuites>'
        )
        monkeypatch.setattr(testing, "JUNIT", report)
        assert testing.counts() == (3, 3, 1)
