"""Whoever asks what a command does is told at once: nothing is started for that."""

from typing import Any

import pytest

from mcpdesk.embedded import testing, throwaway
from mcpdesk.embedded.management.commands.bench import Command


@pytest.fixture(autouse=True)
def _no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    def services(*_: Any) -> None:
        pytest.fail("services were started")

    monkeypatch.setattr(throwaway, "services", services)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["tests/setup", "--help"]])
def test_the_tests_say_what_they_take(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert testing.main(arguments) == 0
    assert "usage: ./desk test" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--help"], "{polling,inbox,history}"), (["history", "-h"], "--operations")],
)
def test_a_benchmark_says_what_it_takes(
    arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "bench", *arguments])
    assert ended.value.code == 0
    assert says in capfd.readouterr().out


def test_without_the_name_of_a_benchmark_its_usage_is_said(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "bench"])
    assert ended.value.code == 2
    assert "usage: ./desk bench" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["pollling"], "invalid choice: 'pollling'"), (["polling", "--tasks", "x"], "--tasks")],
)
def test_what_no_benchmark_takes_is_refused_before_anything_is_started(
    arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "bench", *arguments])
    assert ended.value.code == 2
    assert says in capfd.readouterr().err
