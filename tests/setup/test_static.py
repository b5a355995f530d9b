"""Static files: collected where the pages are served, once, and never into an image."""

import socket
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mcpdesk.embedded import preparation, processes
from mcpdesk.embedded.preparation import FINGERPRINT, IN_AN_IMAGE, collect_static


@pytest.fixture
def target(settings: Any, tmp_path: Path) -> Path:
    settings.STATIC_ROOT = str(tmp_path / "staticfiles")
    return tmp_path / "staticfiles"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the commands that this process would have become."""
    names: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setenv("MCPDESK_BIND", f"127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setattr(
        processes, "replace_this_process", lambda command: names.append(command.name)
    )
    return names


def test_they_are_collected_once(target: Path) -> None:
    assert collect_static()
    assert (target / "js" / "live.js").exists()
    assert not collect_static()


def test_what_changed_is_collected_again(target: Path) -> None:
    collect_static()
    (target / FINGERPRINT).write_text("of something else")
    (target / "gone.css").touch()
    assert collect_static()
    assert not (target / "gone.css").exists()


def test_those_of_an_image_are_taken_as_they_are(target: Path) -> None:
    """Its files cannot be written: to try would end the start."""
    target.mkdir()
    (target / FINGERPRINT).write_text(f"{IN_AN_IMAGE}\n")
    assert not collect_static()
    assert [file.name for file in target.iterdir()] == [FINGERPRINT]


def test_a_web_process_on_a_machine_of_its_own_collects_them(
    target: Path, started: list[str]
) -> None:
    """`prepare` runs once, perhaps elsewhere; without the files every page would fail."""
    call_command("web")
    assert (target / FINGERPRINT).exists()
    assert started == ["web"]


def test_where_they_cannot_be_collected_a_sentence_says_so(
    target: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> bool:
        raise PermissionError(13, "Permission denied", str(target))

    monkeypatch.setattr(preparation, "collect_static", refuse)
    with pytest.raises(CommandError, match="Permission denied"):
        call_command("web")
    assert started == []
