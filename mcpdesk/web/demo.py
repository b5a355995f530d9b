"""The demo: a team, people with known passwords, the simulator, and operations under way.

Seeding again changes nothing: people and servers are found by name, and operations carry
idempotency keys of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from approvals.gate import request_start
from approvals.policies import add_rule
from mcpdesk.accounts.access import Member, member_in
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.audit.admins import Who
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel, Event
from tasks_monitor.engine.servers import add_server, test_server
from tasks_monitor.models import Answerers, AuthKind, Server

SERVER_NAME = "workshop"
_TEAM = ("platform", "Platform")
_OTHER_TEAM = ("warehouse", "Warehouse")

_PEOPLE = (
    (Role.APPROVER, "Amelia Approver"),
    (Role.OPERATOR, "Oskar Operator"),
    (Role.AUDITOR, "Audrey Auditor"),
    (Role.ADMIN, "Adam Admin"),
    (Role.VIEWER, "Viktor Viewer"),
)
#: Somebody of another team, who must see nothing of all this.
_FOREIGNER = ("outsider", "Olga Outsider")


def _email(role: str) -> str:
    return f"{role}@demo.example"


def _password(role: str) -> str:
    return f"{role}-demo-pass"


#: (role, e-mail address, password), in the order they are worth trying.
SIGN_INS: tuple[tuple[str, str, str], ...] = tuple(
    (role, _email(role), _password(role))
    for role in (*(str(role) for role, _ in _PEOPLE), _FOREIGNER[0])
)


@dataclass(frozen=True, slots=True)
class _Run:
    """An operation of the demo. The tools are those of mcpdesk/simulator/tools/demo.py."""

    tool: str
    reason: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    questions_to: str = Answerers.APPROVERS


_RUNS = (
    _Run("search_orders", "Which orders does Lindgren AB have?", {"query": "Lindgren"}),
    _Run("rotate_certificates", "They run out on Friday", {"days": 90}),
    _Run(
        "deploy_project",
        "Release 43 to production",
        {"project": "shop", "environment": "production", "region": "eu-central"},
    ),
    _Run("purge_partition", "Kept longer than allowed", {"partition": "events_2024_q1"}),
    _Run("issue_refund", "The customer wrote twice", {"order": "A-1041"}),
    _Run("archive_tickets", "The ticket list has become slow", {"older_than_days": 365}),
    _Run("connect_repository", "For the weekly report", {"repository": "acme/reports"}),
    _Run("run_report", "Numbers for Monday", {"region": "eu-north", "currency": "EUR"}),
    _Run("book_maintenance", "New disks", {"team": "Data"}, questions_to=Answerers.REQUESTER),
)

#: The policy of the demo: what reads or is everyday runs at once, what cannot be undone is asked.
_RULES: tuple[dict[str, Any], ...] = (
    {"name": "Nothing is dropped", "effect": "disabled", "tool": "drop_*"},
    {
        "name": "Production deployments",
        "effect": "ask",
        "tool": "deploy_*",
        "arguments": [{"path": "environment", "op": "equals", "value": "production"}],
        "ask": {
            "deadline_s": 24 * 3600,
            "escalation": [{"after_s": 3600, "audience": "admins"}],
            "remember": True,
        },
    },
    {
        "name": "Deleting data takes two",
        "effect": "ask",
        "tool": "purge_*",
        "ask": {"quorum": 2, "deadline_s": 24 * 3600, "at_deadline": "deny"},
    },
    {
        "name": "Refunds",
        "effect": "ask",
        "tool": "issue_refund",
        "questions": {"audience": "approvers", "four_eyes": True},
    },
    {"name": "What claims to only read", "effect": "allow", "claims": {"readOnlyHint": True}},
    *(
        {"name": f"Everyday work: {tool}", "effect": "allow", "tool": tool}
        for tool in ("run_report", "*_certificates", "archive_*", "connect_*", "book_*")
    ),
)


def seed(endpoint: str) -> None:
    """Make what is missing of the demo. `endpoint`: the simulator's URL; it should answer."""
    now = datetime.now(UTC)
    team = _team(*_TEAM)
    for role, name in _PEOPLE:
        _person(team, role, role, name)
    _person(_team(*_OTHER_TEAM), Role.OPERATOR, *_FOREIGNER)
    server = _server(team, endpoint, _actor(team, Role.ADMIN), now)
    _policy(team, now)
    for number, run in enumerate(_RUNS, start=1):
        _start(server, f"demo:{number}", run, _actor(team, Role.OPERATOR), now)


def _policy(team: Team, now: datetime) -> None:
    """The rules, once: what an admin of the demo has changed or removed stays so."""
    if Event.objects.filter(team=team, kind="policy.added").exists():
        return
    for rule in _RULES:
        add_rule(rule, who=Who(_member(team, Role.ADMIN), now))


def _team(slug: str, name: str) -> Team:
    return Team.objects.get_or_create(slug=slug, defaults={"name": name})[0]


def _person(team: Team, role: Role, address: str, name: str) -> None:
    email = _email(address)
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, _password(address), name=name)
    Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})


def _actor(team: Team, role: Role) -> Actor:
    return Actor.person(_member(team, role), Channel.COMMAND)


def _member(team: Team, role: Role) -> Member:
    member = member_in(User.objects.get(email=_email(role)), team.pk)
    if member is None:
        raise RuntimeError(f"the demo's {role} was removed from {team}: start with new data")
    return member


def _server(team: Team, endpoint: str, actor: Actor, now: datetime) -> Server:
    """The simulator. Its port may differ from start to start; its memory is the same."""
    server = Server.objects.filter(team=team, name=SERVER_NAME).first()
    if server is None:
        server = add_server(
            team_id=team.pk,
            name=SERVER_NAME,
            url=endpoint,
            identity="platform-bot",
            auth_kind=AuthKind.NONE,
            credential=None,
            allow_private=True,
            questions_to=Answerers.APPROVERS,
            actor=actor,
            now=now,
        )
    Server.objects.filter(pk=server.pk).update(url=endpoint)
    return test_server(server.pk, actor=actor, now=now)


def _start(server: Server, key: str, run: _Run, actor: Actor, now: datetime) -> None:
    request_start(
        team_id=server.team_id,
        server_id=server.pk,
        tool_name=run.tool,
        arguments=dict(run.arguments),
        actor=actor,
        now=now,
        reason=run.reason,
        idempotency_key=key,
        questions_to=run.questions_to,
    )
