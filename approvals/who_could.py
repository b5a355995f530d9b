"""Who could decide what at a moment of the past: from the histories of roles and rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from approvals import policy, policy_versions
from approvals.gate import annotations_of
from approvals.policy.eligible import Away, Person, Standing, standings
from mcpdesk.accounts import access
from mcpdesk.accounts.models import AbsenceSpan, ApiToken, Role, RoleSpan, Team, User
from tasks_monitor.models import Server


@dataclass(frozen=True, slots=True)
class Call:
    """A call that nobody makes. `starter` None: a service, by `token` where it has one."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    starter: User | None
    token: ApiToken | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One member of that moment: the standing, with the people it names."""

    person: User
    role: Role
    standing: Standing
    stands_in_for: tuple[User, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the policy would have said, and of each member whether they could decide it.

    `lines` is empty where nobody would have been asked. `starter_role` "": was no member then.
    """

    then: policy_versions.Then
    gate: policy.Gate
    lines: list[Line]
    starter_role: str
    people_known: bool

    @property
    def would(self) -> str:
        return policy.explain(self.gate)


def answer(team: Team, call: Call, moment: datetime) -> Answer:
    """What of this call would have been decided by whom at that moment (aware UTC).

    The server's claims about the tool are those of today: nobody kept them.
    """
    spans = list(_roles_at(team, moment))
    roles = {span.user_id: Role(span.role) for span in spans}
    role = roles.get(call.starter.pk, "") if call.starter else ""
    then = policy_versions.at(team.pk, moment)
    gate = policy.gate(then.rules, _request(team, call, role))
    lines = _lines(team, call, gate, spans, moment) if gate.ask else []
    first = RoleSpan.objects.filter(team=team).first()
    return Answer(then, gate, lines, role, first is not None and first.starts_at <= moment)


def _request(team: Team, call: Call, role: str) -> policy.Request:
    server = Server.objects.filter(team=team, name=call.server).first()
    return policy.Request(
        server=call.server,
        tool=call.tool,
        arguments=call.arguments,
        user_id=call.starter.pk if call.starter else None,
        role=role,
        annotations=annotations_of(server, call.tool) if server else None,
    )


def _lines(
    team: Team, call: Call, gate: policy.Gate, spans: list[RoleSpan], moment: datetime
) -> list[Line]:
    ask = gate.ask or policy.DEFAULT_ASK
    if ask.audience is policy.Audience.REQUESTER and call.starter is None:
        ask = policy.DEFAULT_ASK
    people = [_person(span) for span in spans]
    away = [Away(one.user_id, one.stand_in_id) for one in _away_at(team, moment)]
    users = {span.user_id: span.user for span in spans}
    started_by = call.starter.pk if call.starter else None
    made_token = call.token.created_by_id if call.token else None
    found = standings(ask, started_by, people, away, made_token)
    lines = [
        Line(
            users[one.user_id],
            Role(span.role),
            one,
            tuple(users[pk] for pk in one.stands_in_for),
        )
        for span, one in zip(spans, found, strict=True)
    ]
    return sorted(lines, key=lambda line: not line.standing.may)


def _person(span: RoleSpan) -> Person:
    role = Role(span.role)
    groups = frozenset(policy.Audience(one) for one in access.audiences_of(role))
    return Person(span.user_id, role.label, role in access.DECIDING_ROLES, groups)


def _roles_at(team: Team, moment: datetime) -> QuerySet[RoleSpan]:
    lasts = Q(ends_at__isnull=True) | Q(ends_at__gt=moment)
    found = RoleSpan.objects.filter(lasts, team=team, starts_at__lte=moment)
    return found.select_related("user").order_by("user__name", "user_id")


def _away_at(team: Team, moment: datetime) -> QuerySet[AbsenceSpan]:
    said = Q(said_until__isnull=True) | Q(said_until__gt=moment)
    return AbsenceSpan.objects.filter(
        said, team=team, said_from__lte=moment, starts_at__lte=moment, ends_at__gt=moment
    )
