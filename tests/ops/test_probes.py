"""Probes: alive is not ready; who asks learns which, and nothing that helps to break in."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from kombu import Connection

from mcpdesk.embedded.management.commands import healthy
from mcpdesk.ops import readiness, views
from mcpdesk.ops.readiness import Kept
from tasks_monitor.engine.heartbeat import EXPECTED, beat
from tests.conftest import free_port

pytestmark = pytest.mark.django_db

ALL_OK = dict.fromkeys(["database", "migrations", "broker", "workers", "clock"], "ok")


@pytest.fixture(autouse=True)
def _at_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    """Everything was seen just now; the broker is in memory, and nothing was found before."""
    monkeypatch.setattr(views, "lately", Kept(readiness.checks))
    for process in EXPECTED:
        beat(process, timezone.now())
    with mock.patch("mcpdesk.ops.readiness.current_app") as app:
        app.connection_for_write.side_effect = lambda: Connection("memory://")
        yield


def ready() -> tuple[int, dict[str, str]]:
    response = Client().get("/readyz")
    body = response.json()
    assert body["status"] == ("ready" if response.status_code == 200 else "not ready")
    return response.status_code, body["checks"]


def test_a_desk_at_work_is_ready() -> None:
    assert ready() == (200, ALL_OK)


@pytest.mark.parametrize(
    ("process", "check"), [("clock", "clock"), ("worker", "workers"), ("inbox", "workers")]
)
def test_what_was_not_seen_for_a_minute_makes_it_not_ready(process: str, check: str) -> None:
    beat(process, timezone.now() - timedelta(seconds=61))
    assert ready() == (503, {**ALL_OK, check: "failed"})


def test_a_broker_that_is_away_makes_it_not_ready() -> None:
    away = Connection(f"redis://127.0.0.1:{free_port()}/0")
    with mock.patch("mcpdesk.ops.readiness.current_app") as app:
        app.connection_for_write.return_value = away
        assert ready() == (503, {**ALL_OK, "broker": "failed"})


def test_tables_that_are_behind_make_it_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_migrated", False)
    plan = mock.Mock(return_value=["one to go"])
    monkeypatch.setattr(readiness.MigrationExecutor, "migration_plan", plan)
    assert ready() == (503, {**ALL_OK, "migrations": "failed"})


def test_tables_that_are_right_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_migrated", False)
    assert ready()[0] == 200
    monkeypatch.setattr(views, "lately", Kept(readiness.checks))
    monkeypatch.setattr(readiness, "MigrationExecutor", mock.Mock(side_effect=AssertionError))
    assert ready()[0] == 200


def test_a_database_that_is_away_is_named_and_its_words_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = mock.Mock()
    away.cursor.side_effect = OperationalError("password of mcpdesk@10.0.0.7 is wrong")
    monkeypatch.setattr(readiness, "connection", away)
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["database"] == "failed"
    assert "10.0.0.7" not in response.content.decode()


def test_who_asks_again_at_once_has_nothing_asked(django_assert_num_queries: Any) -> None:
    assert ready() == (200, ALL_OK)
    with (
        django_assert_num_queries(0),
        mock.patch("mcpdesk.ops.readiness.current_app", side_effect=AssertionError),
    ):
        assert ready() == (200, ALL_OK)


def test_a_database_that_went_away_is_named_a_second_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(views, "lately", Kept(readiness.checks, lambda: now[0]))
    assert ready()[0] == 200
    monkeypatch.setattr(readiness, "connection", mock.Mock(cursor=mock.Mock(side_effect=OSError)))
    now[0] = readiness.KEPT_S
    assert ready()[0] == 200
    now[0] += 0.001
    assert ready() == (503, {**ALL_OK, "database": "failed"})


def test_alive_asks_nothing_of_anything_else() -> None:
    """What is started anew because the database is away would not help it."""
    with mock.patch("django.db.backends.utils.CursorWrapper.execute", side_effect=AssertionError):
        response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_never_kept(path: str) -> None:
    assert "no-store" in Client().get(path).headers["Cache-Control"]


def test_the_old_address_still_answers() -> None:
    assert Client().get("/health/").content == b"ok"


@pytest.mark.parametrize(("process", "path"), [("web", "/healthz"), ("desk", "/readyz")])
@pytest.mark.parametrize("answers", [True, False])
def test_the_command_for_health_checks_asks_the_probe(
    process: str,
    path: str,
    answers: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        healthy.processes, "answers", lambda url, host: asked.append(url) or answers
    )
    with pytest.raises(SystemExit) as ended:
        call_command("healthy", process)
    assert ended.value.code == (0 if answers else 1)
    said = capsys.readouterr().err
    assert ("does not answer" in said) is not answers
    assert [url.endswith(path) for url in asked] == [True]
