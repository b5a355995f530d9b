"""Schemathesis against the OpenAPI document: no 5xx, and no answer outside its schema.

Bounded, so that CI stays short; SCHEMATHESIS_EXAMPLES=1000 looks for longer.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from approvals import binding, repair
from approvals.models import Approval
from mcpdesk.accounts.models import Role
from mcpdesk.api.urls import api
from tasks_monitor.models import Repair, RepairState, Server
from tasks_monitor.states import State
from tests.access.snapshot import undone
from tests.api.calling import Caller, person
from tests.factories import (
    ApprovalFactory,
    InputRequestFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
    TeamFactory,
    form_params,
)

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "25"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@dataclass(slots=True)
class Stage:
    """An admin's token, and things of the team for what would hardly be guessed."""

    caller: Caller
    approval: Approval
    repair: Repair

    def meant(self, case: Case) -> None:
        """The same request about things that there are."""
        parameters = case.path_parameters or {}
        if "pk" in parameters:
            parameters["pk"] = str(self._about(case.path).pk)
        if "repair_id" in parameters:
            parameters["repair_id"] = self.repair.pk
        if "name" in parameters:
            parameters["name"] = self.approval.operation.server.name
        if isinstance(case.body, dict):
            names = {
                "server": self.approval.operation.server.name,
                "binding": self._binding(),
                "seen": repair.seen_of(self.repair.operation),
            }
            case.body |= {name: value for name, value in names.items() if name in case.body}

    def _about(self, path: str) -> Any:
        if "repair" in path:
            return self.repair.operation
        return self.approval if "approvals" in path else self.approval.operation

    def _binding(self) -> str:
        user = self.caller.token.user
        assert user is not None
        return binding.bind(self.approval, user_id=user.pk, now=timezone.now())


@contextmanager
def _one_connection() -> Iterator[None]:
    """The application keeps the test's connection, as Django's own test client sees to it."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    with django_db_blocker.unblock(), undone(), _one_connection():
        team = TeamFactory()
        PolicyRuleFactory(team=team)
        server = ServerFactory(team=team, name="builds")
        server.tools.create(name="deploy", definition={"inputSchema": {"type": "object"}})
        fields = {"size": {"type": "integer"}, "sure": {"type": "boolean"}}
        request = InputRequestFactory(
            operation=OperationFactory(server=server),
            params=form_params("How large?", **fields),
            taken_version=1,
        )
        approval = ApprovalFactory(input_request=request, shape="form")
        yield Stage(person(team, Role.ADMIN), approval, _proposed(server))


def _proposed(server: Server) -> Repair:
    """What somebody else proposed for an operation that is lost."""
    return Repair.objects.create(
        operation=OperationFactory(server=server, state=State.LOST),
        choice="record_done",
        content={"reason": "looked", "evidence": "seen", "task_id": ""},
        state=RepairState.PROPOSED,
        proposed_by=person(server.team, Role.OPERATOR).token.user,
        proposed_at=timezone.now(),
    )


@pytest.fixture(autouse=True)
def without_limit(settings: Any) -> None:
    settings.API = {"RATE": 10**9}


# not asked for over HTTP: a request while the tests are collected opens the pool of connections too
# early, on the database that is not theirs
schema = schemathesis.openapi.from_dict(api.get_openapi_schema())
schema.app = WSGIHandler()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="SCHEMATHESIS_EXAMPLES" not in os.environ,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_is_answered_outside_the_document(case: Case, stage: Stage) -> None:
    for prepare in (lambda _: None, stage.meant):
        prepare(case)
        with undone():
            case.call_and_validate(headers=stage.caller.headers, checks=CHECKS)
