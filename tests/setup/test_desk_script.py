"""The desk script, in a small checkout whose lock file names no package at all."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.setup.conftest import CHECKOUT

MANAGE = "import sys; print('manage.py', sys.prefix.endswith('.venv'), sys.argv[1:])\n"
ENVIRONMENT = Path("mcpdesk/embedded/environment.py")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose .venv is there."""
    checkout = _checkout(tmp_path_factory.mktemp("made"))
    result = desk(checkout, "hello")
    assert result.returncode == 0, result.stderr
    return checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh clone: no .venv."""
    return _checkout(tmp_path)


def _checkout(folder: Path) -> Path:
    checkout = folder / "a check out"
    (checkout / ENVIRONMENT).parent.mkdir(parents=True)
    shutil.copy(CHECKOUT / "desk", checkout)
    shutil.copy(CHECKOUT / ENVIRONMENT, checkout / ENVIRONMENT)
    (checkout / "manage.py").write_text(MANAGE)
    for name in ("requirements.lock", "requirements-dev.lock"):
        (checkout / name).write_text("# no packages\n")
    return checkout


def desk(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(checkout / "desk"), *arguments],
        cwd="/",
        env={k: v for k, v in os.environ.items() if k != "MCPDESK_DATA"} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def test_without_a_command_it_prints_help_and_makes_nothing(checkout: Path) -> None:
    result = desk(checkout)
    assert result.returncode == 0
    assert "./desk demo" in result.stdout
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["up", "--help"], ["demo", "-h"]])
def test_who_asks_for_help_gets_it_and_nothing_is_started(
    checkout: Path, arguments: list[str]
) -> None:
    result = desk(checkout, *arguments)
    assert result.returncode == 0
    assert "./desk demo" in result.stdout
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("command", ["up", "demo"])
def test_an_argument_that_would_change_nothing_is_refused(checkout: Path, command: str) -> None:
    result = desk(checkout, command, "--port=9000")
    assert result.returncode == 2
    assert f"{command} takes no arguments, and got --port=9000" in result.stderr
    assert not (checkout / ".venv").exists()


def test_a_second_run_installs_nothing_and_keeps_the_arguments(made: Path) -> None:
    result = desk(made, "timeline", "two words", "*")
    assert result.stdout == "manage.py True ['timeline', 'two words', '*']\n"


def test_it_runs_from_any_folder_and_through_a_link_to_its_folder(
    made: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(made)
    assert desk(link, "hello").stdout == "manage.py True ['hello']\n"


def test_a_changed_lock_file_is_installed_again(made: Path) -> None:
    (made / "requirements.lock").write_text("# other packages\n")
    assert "Installing 0 packages of requirements.lock" in desk(made, "hello").stdout
    assert desk(made, "hello").stdout == "manage.py True ['hello']\n"


def test_an_interrupted_installation_is_not_taken_for_a_finished_one(made: Path) -> None:
    (made / ".venv" / "installed-requirements.lock").unlink()
    left = made / ".venv" / "half-installed"
    left.touch()
    assert "Installing" in desk(made, "hello").stdout
    assert not left.exists()


def test_two_desks_at_once_install_once(made: Path) -> None:
    (made / "requirements.lock").write_text("# new packages, for whoever comes first\n")
    command = ["sh", str(made / "desk"), "hello"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    output = "".join(process.communicate()[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert output.count("Installing") == 1
    assert output.count("manage.py True") == 2


def test_an_environment_for_the_tests_serves_everything_else_too(made: Path) -> None:
    (made / "requirements-dev.lock").write_text("# tests\n")
    testing = made / "mcpdesk" / "embedded" / "testing.py"
    testing.write_text("import sys; print('testing', sys.argv[1:])\n")
    result = desk(made, "test", "-k", "x")
    assert "Installing 0 packages of requirements-dev.lock" in result.stdout
    assert result.stdout.endswith("testing ['-k', 'x']\n")
    assert desk(made, "hello").stdout == "manage.py True ['hello']\n"


def test_the_demo_keeps_its_data_apart(made: Path) -> None:
    for module in ("startup", "demo_startup"):
        program = made / "mcpdesk" / "embedded" / f"{module}.py"
        program.write_text("import os; print(os.environ['MCPDESK_DATA'])\n")
    assert desk(made, "up").stdout == f"{made}/var\n"
    assert desk(made, "demo").stdout == f"{made}/var/demo\n"
    assert desk(made, "demo", MCPDESK_DATA="there").stdout == "//there\n"


def test_without_a_usable_python_it_says_which_ones_it_takes(
    checkout: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("dirname", "cmp", "cat", "sh"):
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)
    old = programs / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    result = desk(checkout, "up", PATH=str(programs))
    assert result.returncode == 1
    assert "Install Python 3.11" in result.stderr
    assert "PYTHON=" in result.stderr


def test_a_package_that_cannot_be_had_is_one_sentence_and_no_environment(made: Path) -> None:
    hashes = "--hash=sha256:" + "0" * 64
    (made / "requirements.lock").write_text(f"mcpdesk-is-no-package==1.0 {hashes}\n")
    result = desk(made, "up", PIP_NO_INDEX="1")
    assert result.returncode == 1
    assert "desk: packages could not be installed: a package was not found" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (made / ".venv" / "installed-requirements.lock").exists()


def test_it_names_no_package_registry() -> None:
    for file in ("desk", str(ENVIRONMENT), "Dockerfile", "docker-compose.yml"):
        assert "pypi" not in (CHECKOUT / file).read_text().lower()
