"""What tests of the API go without: a broker, and open pages."""

import pytest


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "desk_url" not in request.fixturenames:
        monkeypatch.setattr("mcpdesk.audit.announce.post", lambda *_: None)
        monkeypatch.setattr("tasks_monitor.engine.doorbell.ring", lambda *_: None)
        monkeypatch.setattr("approvals.tasks.take_in.delay", lambda *_: None)
