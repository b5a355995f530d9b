from pathlib import Path

import pytest

from mcpdesk.embedded import prepared
from mcpdesk.embedded.prepared import Prepared


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one migration and one static file, and its data folder `data`."""
    for folder in ("app/migrations", "static", "staticfiles", "mcpdesk", "data"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("app/migrations/0001.py", "static/a.css", "mcpdesk/settings.py", "r.lock"):
        (tmp_path / file).touch()
    monkeypatch.setattr(prepared, "CHECKOUT", tmp_path)
    return tmp_path


def test_nothing_is_prepared_at_first(checkout: Path) -> None:
    assert not Prepared(checkout / "data").holds()


def test_what_was_prepared_need_not_be_prepared_again(checkout: Path) -> None:
    Prepared(checkout / "data").remember()
    assert Prepared(checkout / "data").holds()


@pytest.mark.parametrize(
    "file", ["app/migrations/0002.py", "static/a.css", "mcpdesk/settings.py", "r.lock"]
)
def test_a_file_that_changes_what_there_is_to_prepare_counts(checkout: Path, file: str) -> None:
    Prepared(checkout / "data").remember()
    (checkout / file).write_text("new")
    assert not Prepared(checkout / "data").holds()


@pytest.mark.parametrize("name", ["MCPDESK_URL", "REDIS_URL"])
def test_a_changed_setting_counts_since_settings_are_checked(
    checkout: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Prepared(checkout / "data").remember()
    monkeypatch.setenv(name, "something else")
    assert not Prepared(checkout / "data").holds()


def test_the_first_admins_password_leaves_no_trace(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Prepared(checkout / "data").remember()
    before = (checkout / "data" / "prepared").read_text()
    monkeypatch.setenv("MCPDESK_ADMIN_PASSWORD", "correct-horse-7")
    Prepared(checkout / "data").remember()
    assert (checkout / "data" / "prepared").read_text() == before


def test_collected_files_that_were_deleted_are_collected_again(checkout: Path) -> None:
    Prepared(checkout / "data").remember()
    (checkout / "staticfiles").rmdir()
    assert not Prepared(checkout / "data").holds()
