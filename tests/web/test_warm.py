"""The web process compiles what pages need before it serves, and keeps it from the collector."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.test import Client

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.web import warm
from tests.factories import MembershipFactory
from tests.web.browsing import signed_in

_SERVES = "import gc, mcpdesk.asgi; assert gc.get_freeze_count() > 100_000"


@pytest.fixture
def frozen() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("frozen")
@pytest.mark.django_db
def test_a_first_request_compiles_no_template_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    member: Membership = MembershipFactory(role=Role.ADMIN)
    client: Client = signed_in(member)
    _engine().engine.template_loaders[0].reset()
    warm.get_ready()
    compiled: list[str] = []
    monkeypatch.setattr(
        "django.template.base.Template.compile_nodelist",
        lambda self: compiled.append(self.name),
    )
    assert client.get("/inbox/").status_code == 200
    assert compiled == []


@pytest.mark.usefixtures("frozen")
def test_what_is_there_before_the_first_request_is_not_collected_again() -> None:
    gc.unfreeze()
    warm.get_ready()
    assert gc.get_freeze_count() > len(gc.get_objects())


def test_the_web_process_is_ready_before_it_serves() -> None:
    subprocess.run([sys.executable, "-c", _SERVES], check=True, timeout=60)


def _engine() -> DjangoTemplates:
    found = engines["django"]
    assert isinstance(found, DjangoTemplates)
    return found
