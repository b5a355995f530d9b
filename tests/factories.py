"""Rows for tests, as the product itself would write them. Every default is plain and valid."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import factory
from factory.django import DjangoModelFactory

from approvals.models import Approval, Audience, Effect, Kind, PolicyRule, Shape
from mcpdesk.accounts.models import Absence, Membership, Role, Team, User
from tasks_monitor.engine import words
from tasks_monitor.models import (
    Answerers,
    Attempt,
    AttemptOutcome,
    Delivery,
    Era,
    HistoryEntry,
    InputRequest,
    InputRequestSource,
    Operation,
    Payload,
    Server,
    hash_task_id,
)
from tasks_monitor.states import State

#: The moment most tests play at.
NOW = datetime(2026, 11, 29, 14, 0, tzinfo=UTC)


class UserFactory(DjangoModelFactory):
    class Meta:
        model = User
        skip_postgeneration_save = True

    email = factory.Sequence(lambda n: f"person{n}@example.test")
    name = factory.Sequence(lambda n: f"Person {n}")
    password = factory.django.Password("correct horse battery")


class TeamFactory(DjangoModelFactory):
    class Meta:
        model = Team

    name = factory.Sequence(lambda n: f"Team {n}")
    slug = factory.Sequence(lambda n: f"team-{n}")


class MembershipFactory(DjangoModelFactory):
    class Meta:
        model = Membership

    team = factory.SubFactory(TeamFactory)
    user = factory.SubFactory(UserFactory)
    role = Role.APPROVER


class AbsenceFactory(DjangoModelFactory):
    """Away from the day before NOW, and for so long that it is on by the clock of the wall too."""

    class Meta:
        model = Absence

    team = factory.SubFactory(TeamFactory)
    user = factory.SubFactory(UserFactory)
    stand_in = factory.SubFactory(UserFactory)
    starts_at = NOW - timedelta(days=1)
    ends_at = NOW + timedelta(days=3650)


class ServerFactory(DjangoModelFactory):
    class Meta:
        model = Server

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"server-{n}")
    url = "https://deploy.internal.example/mcp"
    identity = "platform-bot"
    era = Era.MODERN
    protocol_version = "2026-07-28"
    created_at = NOW


class PolicyRuleFactory(DjangoModelFactory):
    """A rule that lets everything run, as before there was a gate."""

    class Meta:
        model = PolicyRule

    team = factory.SubFactory(TeamFactory)
    position = factory.LazyAttribute(lambda o: PolicyRule.objects.filter(team=o.team).count() + 1)
    name = factory.Sequence(lambda n: f"rule {n}")
    effect = Effect.ALLOW
    match = factory.LazyFunction(dict)
    ask = factory.LazyFunction(dict)
    changed_at = NOW


class OperationFactory(DjangoModelFactory):
    """An operation that waits for people, by MRTR; `task_id="..."` makes it a remote task."""

    class Meta:
        model = Operation
        exclude = ("arguments",)
        skip_postgeneration_save = True

    team = factory.SelfAttribute("server.team")
    server = factory.SubFactory(ServerFactory)
    tool_name = "deploy_project"
    state = State.INPUT_REQUIRED
    started_by = factory.SubFactory(UserFactory)
    reason = "release 43 to production"
    questions_to = Answerers.REQUESTER
    created_at = updated_at = NOW
    task_id: Any = None
    task_hash = factory.LazyAttribute(lambda o: hash_task_id(o.task_id) if o.task_id else "")

    @factory.post_generation
    def arguments(
        operation: Operation,  # noqa: N805 - factory_boy passes the instance
        create: bool,
        extracted: dict[str, Any] | None,
        **_: Any,
    ) -> None:
        if create:
            given = {"project": "api"} if extracted is None else extracted
            Payload.objects.create(operation=operation, arguments=given)
            HistoryEntryFactory(operation=operation)


class HistoryEntryFactory(DjangoModelFactory):
    """The line of the history that goes with every operation."""

    class Meta:
        model = HistoryEntry

    operation = factory.SubFactory(OperationFactory)
    team = factory.SelfAttribute("operation.team")
    server = factory.SelfAttribute("operation.server")
    tool_name = factory.SelfAttribute("operation.tool_name")
    started_by = factory.SelfAttribute("operation.started_by")
    state = factory.SelfAttribute("operation.state")
    is_error = factory.SelfAttribute("operation.is_error")
    created_at = state_since = factory.SelfAttribute("operation.created_at")
    finished_at = factory.SelfAttribute("operation.finished_at")
    took_ms = factory.LazyAttribute(
        lambda o: o.finished_at and (o.finished_at - o.created_at) // timedelta(milliseconds=1)
    )
    words = factory.LazyAttribute(lambda o: words.of_new(o.operation))


class AttemptFactory(DjangoModelFactory):
    class Meta:
        model = Attempt

    operation = factory.SubFactory(OperationFactory)
    number = factory.Sequence(lambda n: n + 1)
    request_id = factory.SelfAttribute("number")
    round = 1
    sent_at = finished_at = NOW
    outcome = AttemptOutcome.ANSWERED


def fingerprint(method: str, params: Any) -> str:
    """Stands for the protocol core's fingerprint: equal for equal method and params."""
    canonical = json.dumps([method, params], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def form_params(message: str = "Continue?", **properties: Any) -> dict[str, Any]:
    """The params of a form elicitation; each keyword is a property, all of them required."""
    return {
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
        },
    }


def url_params(url: str, message: str = "Open the page to confirm") -> dict[str, Any]:
    """The params of a url elicitation."""
    return {"mode": "url", "message": message, "url": url, "elicitationId": "e-1"}


class InputRequestFactory(DjangoModelFactory):
    class Meta:
        model = InputRequest

    operation = factory.SubFactory(OperationFactory)
    source = InputRequestSource.MRTR
    round = 1
    key = factory.Sequence(lambda n: f"key-{n}")
    key_hash = factory.LazyAttribute(lambda o: hashlib.sha256(o.key.encode()).hexdigest())
    method = "elicitation/create"
    params = factory.LazyFunction(form_params)
    fingerprint = factory.LazyAttribute(lambda o: fingerprint(o.method, o.params))
    opened_at = NOW


class ApprovalFactory(DjangoModelFactory):
    """An open item for a question, put to the team's approvers; the question counts as taken in."""

    class Meta:
        model = Approval

    input_request = factory.SubFactory(
        InputRequestFactory,
        taken_version=1,
        operation__questions_to=Answerers.APPROVERS,
    )
    operation = factory.SelfAttribute("input_request.operation")
    team = factory.SelfAttribute("operation.team")
    server = factory.SelfAttribute("operation.server")
    tool_name = factory.SelfAttribute("operation.tool_name")
    started_by = factory.SelfAttribute("operation.started_by")
    kind = Kind.ANSWER
    shape = Shape.CONFIRM
    audience = Audience.APPROVERS
    created_at = NOW


class DeliveryFactory(DjangoModelFactory):
    class Meta:
        model = Delivery

    input_request = factory.SubFactory(InputRequestFactory)
    response = factory.LazyFunction(lambda: {"action": "decline"})
    action = factory.LazyAttribute(lambda o: o.response["action"])
    saved_at = NOW
