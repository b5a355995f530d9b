"""The demo's passwords are public: its data and a real desk's never mix unnoticed."""

from pathlib import Path

import pytest

from mcpdesk.embedded.demo_startup import DemoStartup
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.startup import Startup
from tests.conftest import free_port


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPDESK_SIMULATOR_BIND", f"127.0.0.1:{free_port()}")
    monkeypatch.delenv("DATABASE_URL", raising=False)


def _database(data: Path) -> None:
    (data / "postgres").mkdir()
    (data / "postgres" / "PG_VERSION").write_text("18\n")


def test_a_demo_on_a_real_desks_data_is_refused(tmp_path: Path) -> None:
    _database(tmp_path)
    with pytest.raises(StartError, match=r"holds a real desk.*MCPDESK_DATA"):
        DemoStartup(tmp_path).check_data()


def test_a_demo_finds_its_own_data_again(tmp_path: Path) -> None:
    DemoStartup(tmp_path).check_data()
    _database(tmp_path)
    DemoStartup(tmp_path).check_data()


def test_a_real_desk_on_a_demos_data_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    DemoStartup(tmp_path).check_data()
    Startup(tmp_path).check_data()
    assert "passwords are public" in capsys.readouterr().out


def test_a_demo_does_not_go_into_a_database_of_somebodys_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/desk")
    with pytest.raises(StartError, match="unset DATABASE_URL"):
        DemoStartup(tmp_path).check_data()


def test_a_real_desk_beside_the_demo_is_not_taken_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # where ./desk puts them: var, and var/demo
    (tmp_path / "demo").mkdir()
    DemoStartup(tmp_path / "demo").check_data()
    Startup(tmp_path).check_data()
    assert capsys.readouterr().out == ""
