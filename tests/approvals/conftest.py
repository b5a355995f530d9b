"""People of one team, and questions put to them."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals import intake
from approvals.models import Approval, Kind
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from tasks_monitor.models import Answerers, InputRequest
from tests.approvals.answers import questions_rule
from tests.approvals.gates import a_gate
from tests.factories import (
    NOW,
    InputRequestFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
    form_params,
)

Ask = Callable[..., Approval]
Join = Callable[..., Member]


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No broker, and a channel layer only for browsers: ringing has tests of its own."""
    if request.node.get_closest_marker("browser") is None:
        monkeypatch.setattr("mcpdesk.audit.announce.post", lambda *_: None)
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring", lambda *_: None)
    monkeypatch.setattr("approvals.tasks.take_in.delay", lambda *_: None)


@pytest.fixture
def team(db: None) -> Team:
    team: Team = TeamFactory()
    return team


@pytest.fixture
def join(team: Team) -> Join:
    """join(role) makes a member; join(role, team=other, user=known) too."""

    def join(role: Role = Role.APPROVER, **more: Any) -> Member:
        membership = MembershipFactory(**{"team": team, **more}, role=role)
        return Member(membership.user, membership.team, Role(membership.role))

    return join


@pytest.fixture
def approver(join: Join) -> Member:
    return join(Role.APPROVER)


@pytest.fixture
def operator(join: Join) -> Member:
    return join(Role.OPERATOR)


@pytest.fixture
def ask(team: Team, operator: Member) -> Ask:
    """ask() is an item for a form that the team's approvers are to fill in.

    `fields` are the form's properties; other keywords are columns of the input request.
    """

    def ask(
        *,
        params: dict[str, Any] | None = None,
        message: str = "Continue?",
        questions_to: Answerers = Answerers.APPROVERS,
        operation: Any = None,
        started_by: Any = operator.user,
        arguments: dict[str, Any] | None = None,
        fields: dict[str, Any] | None = None,
        **request: Any,
    ) -> Approval:
        operation = operation or OperationFactory(
            server=ServerFactory(team=team),
            questions_to=questions_to,
            started_by=started_by,
            arguments=arguments,
            round=request.get("round", 1),
        )
        asked: InputRequest = InputRequestFactory(
            operation=operation,
            params=form_params(message, **(fields or {})) if params is None else params,
            **request,
        )
        intake.take_in(operation.pk, now=NOW)
        return Approval.objects.get(input_request=asked)

    return ask


@pytest.fixture(params=[Kind.GATE, Kind.ANSWER])
def item(request: pytest.FixtureRequest, ask: Ask, team: Team, operator: Member) -> Approval:
    """Something that `operator` started, for two approvers under four eyes."""
    if request.param == Kind.GATE:
        return a_gate(operator, {"quorum": 2, "four_eyes": True})
    questions_rule(team)
    return ask()
