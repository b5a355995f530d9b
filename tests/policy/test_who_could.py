"""Who could decide at a moment of the past equals who could at that moment."""

import random
from datetime import datetime, timedelta

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from approvals import policies, policy, who_could
from approvals.models import Audience
from approvals.who_could import Call
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Absence, Membership, Role, Team, User
from mcpdesk.audit.admins import Who
from tests.api.calling import a_token
from tests.factories import (
    NOW,
    ApprovalFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
    UserFactory,
)

ROLES = list(Role)
LONG = timedelta(days=1)


def clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]  # type: ignore[no-any-return]


class World:
    """A team whose people, absences and rules change by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.team: Team = TeamFactory()
        self.server = ServerFactory(team=self.team)
        self.people: list[User] = [UserFactory() for _ in range(4)]
        admin = MembershipFactory(team=self.team, role=Role.ADMIN).user
        self.who = Who(Member(admin, self.team, Role.ADMIN), NOW)
        self.operation = OperationFactory(
            team=self.team, server=self.server, tool_name="t", started_by=self.people[0]
        )

    def change(self) -> None:
        self.chance.choice([self._role, self._role, self._account, self._absence, self._rule])()

    def _role(self) -> None:
        user, role = self.chance.choice(self.people), self.chance.choice([None, *ROLES])
        if role is None:
            Membership.objects.filter(team=self.team, user=user).delete()
        else:
            Membership.objects.update_or_create(team=self.team, user=user, defaults={"role": role})

    def _account(self) -> None:
        user = self.chance.choice(self.people)
        User.objects.filter(pk=user.pk).update(is_active=self.chance.random() < 0.6)

    def _absence(self) -> None:
        away, stand_in = self.chance.sample(self.people, 2)
        rows = Absence.objects.filter(team=self.team, user=away)
        if rows.exists() and self.chance.random() < 0.5:
            self.chance.choice([rows.delete, lambda: rows.update(ends_at=clock())])()
        elif not rows.exists():
            Absence.objects.create(
                team=self.team,
                user=away,
                stand_in=stand_in,
                starts_at=clock() - LONG,
                ends_at=clock() + LONG,
            )
        else:
            rows.update(stand_in=stand_in, ends_at=clock() + LONG)

    def _rule(self) -> None:
        for rule in policies.rules_of(self.team.pk):
            policies.delete_rule(rule.pk, version=rule.version, who=self.who)
        audience = self.chance.choice(["approvers", "admins", "requester"])
        four_eyes = audience != "requester" and self.chance.random() < 0.5
        ask = {"audience": audience, "four_eyes": four_eyes}
        policies.add_rule({"name": "one", "effect": "ask", "ask": ask}, who=self.who)

    def live(self, moment: datetime) -> tuple[str, set[tuple[int, int | None]]]:
        """By the engine's own reading, now."""
        member = access.member_in(User.objects.get(pk=self.people[0].pk), self.team.pk)
        request = policy.Request(
            self.server.name, "t", {}, self.people[0].pk, member.role if member else ""
        )
        gate = policy.gate(policies.active(self.team.pk), request)
        assert gate.ask is not None
        approval = ApprovalFactory.build(
            team=self.team,
            operation=self.operation,
            input_request=None,
            audience=Audience(gate.ask.audience),
            four_eyes=gate.ask.four_eyes,
        )
        return policy.explain(gate), {
            (right.user_id, right.acts_for) for right in access.deciders(approval, moment).rights
        }

    def then(self, moment: datetime) -> tuple[str, set[tuple[int, int | None]]]:
        """By the histories, afterwards."""
        call = Call(self.server.name, "t", {}, self.people[0])
        found = who_could.answer(self.team, call, moment)
        return found.would, _rights(found)


def _rights(found: who_could.Answer) -> set[tuple[int, int | None]]:
    may = [line.standing for line in found.lines if line.standing.may]
    return {(one.user_id, acts_for) for one in may for acts_for in one.stands_in_for or (None,)}


def _of_each(rights: set[tuple[int, int | None]]) -> set[tuple[int, int | None]]:
    """Who decides in their own right needs nobody to stand in for."""
    own = {user for user, acts_for in rights if acts_for is None}
    return {(user, acts_for) for user, acts_for in rights if acts_for is None or user not in own}


class TestHistory(TestCase):
    @settings(max_examples=12, deadline=None)
    @given(st.integers(0, 10_000))
    def test_what_the_histories_say_of_a_moment_is_what_was_so_then(self, seed: int) -> None:
        world = World(seed)
        noted = []
        for _ in range(10):
            world.change()
            moment = clock()
            would, rights = world.live(moment)
            noted.append((moment, (would, _of_each(rights))))
        for moment, live in noted:
            assert world.then(moment) == live


@pytest.mark.django_db
def test_a_step_that_comes_later_is_said_with_its_time() -> None:
    admin = MembershipFactory(role=Role.ADMIN)
    team = admin.team
    named = MembershipFactory(team=team, role=Role.APPROVER).user
    step = {"after_s": 7200, "audience": "admins"}
    rule = {
        "name": "one",
        "effect": "ask",
        "ask": {"audience": "people", "people": [named.pk], "escalation": [step]},
    }
    policies.add_rule(rule, who=Who(Member(admin.user, team, Role.ADMIN), NOW))
    found = who_could.answer(team, Call("s", "t", {}, None), clock())
    lines = {line.person: line.standing for line in found.lines}
    assert lines[named].may
    assert lines[named].why == "named by the rule"
    assert not lines[admin.user].may
    assert lines[admin.user].why == "only after 2 hours: one of the team's admins"


@pytest.mark.django_db
def test_of_a_time_before_there_was_anybody_nothing_is_claimed() -> None:
    admin = MembershipFactory(role=Role.ADMIN)
    found = who_could.answer(admin.team, Call("s", "t", {}, None), clock() - LONG)
    assert not found.people_known
    assert found.lines == []


@pytest.mark.django_db
def test_who_stood_in_before_the_absence_was_changed_is_known() -> None:
    team = MembershipFactory(role=Role.ADMIN).team
    away, first, second = (
        MembershipFactory(team=team, role=role).user
        for role in (Role.APPROVER, Role.OPERATOR, Role.OPERATOR)
    )
    absence = Absence.objects.create(
        team=team, user=away, stand_in=first, starts_at=clock() - LONG, ends_at=clock() + LONG
    )
    before = clock()
    absence.stand_in = second
    absence.save()
    call = Call("s", "t", {}, None)
    assert (first.pk, away.pk) in _rights(who_could.answer(team, call, before))
    assert (second.pk, away.pk) not in _rights(who_could.answer(team, call, before))
    assert (second.pk, away.pk) in _rights(who_could.answer(team, call, clock()))
    assert (first.pk, away.pk) not in _rights(who_could.answer(team, call, clock()))


@pytest.mark.django_db
def test_who_made_the_token_of_a_service_could_not_decide_what_it_starts() -> None:
    admin = MembershipFactory(role=Role.ADMIN)
    team, other = admin.team, MembershipFactory(team=admin.team, role=Role.ADMIN).user
    ask = {"audience": "admins", "four_eyes": True}
    who = Who(Member(admin.user, team, Role.ADMIN), NOW)
    policies.add_rule({"name": "one", "effect": "ask", "ask": ask}, who=who)
    token, _ = a_token(team, created_by=admin.user)
    found = who_could.answer(team, Call("s", "t", {}, None, token), clock())
    lines = {line.person: line.standing for line in found.lines}
    assert (lines[admin.user].may, lines[other].may) == (False, True)
    assert lines[admin.user].why.endswith("they made the token of the service that started it")
