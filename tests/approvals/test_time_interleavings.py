"""One gate under time, holds, votes, roles and clocks, in any order: what always holds."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from approvals import clockwork, standstill
from approvals.models import ApprovalState, Verdict
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from mcpdesk.web import members
from tasks_monitor.engine import hold
from tasks_monitor.engine.claim import claim
from tasks_monitor.engine.prepare import prepare
from tasks_monitor.engine.work import Call
from tasks_monitor.models import Attempt, Hold, Operation
from tasks_monitor.states import State
from tests.approvals.gates import a_gate, say
from tests.factories import NOW, MembershipFactory, TeamFactory

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
DEADLINE = 100
STEPS = (30, 60)
PARTS = {50: "half", 90: "nine tenths"}


class OneGate(RuleBasedStateMachine):
    """Rules are what people, time and clocks do; `net` is how long its time has run (min)."""

    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.atomic()
        # as the test's own transaction: the verbs insist on being the outermost one
        self.savepoint._from_testcase = True  # type: ignore[attr-defined]
        self.savepoint.__enter__()
        self.now, self.net = NOW, 0
        self.looked_at_net = -1
        self.holds: dict[str, Hold] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    @initialize(quorum=st.sampled_from([1, 2]), at_deadline=st.sampled_from(["expire", "deny"]))
    def somebody_asks(self, quorum: int, at_deadline: str) -> None:
        team = TeamFactory()
        self.starter, self.admin = self._join(team, Role.OPERATOR), self._join(team, Role.ADMIN)
        self.approvers = [self._join(team, Role.APPROVER) for _ in range(2)]
        self.quorum, self.at_deadline = quorum, at_deadline
        escalation = [{"after_s": 60 * after, "audience": "admins"} for after in STEPS]
        ask = {
            "quorum": quorum,
            "deadline_s": 60 * DEADLINE,
            "at_deadline": at_deadline,
            "escalation": escalation,
        }
        self.approval = a_gate(self.starter, ask)

    def _join(self, team: Any, role: Role) -> Member:
        membership = MembershipFactory(team=team, role=role)
        return Member(membership.user, membership.team, role)

    # time and its clocks

    @rule(minutes=st.sampled_from([1, 5, 20, 200]))
    def time_passes(self, minutes: int) -> None:
        self.now += minutes * MINUTE
        if not self.holds:
            self.net += minutes

    @rule(clocks=st.sampled_from([1, 2]))
    def the_clock_looks(self, clocks: int) -> None:
        for _ in range(clocks):
            clockwork.look(self.now)
        if not self.holds:
            self.looked_at_net = self.net

    @rule()
    def a_worker_looks(self) -> None:
        works = prepare(claim(self.now, 10), self.now)
        assert not (self.holds and any(isinstance(work, Call) for work, _ in works))

    # people

    @rule(what=st.sampled_from(["team", "server"]))
    def somebody_stops_it_or_lets_it_go(self, what: str) -> None:
        who = Actor.person(self.admin)
        if what in self.holds:
            hold.end(self.holds.pop(what).pk, actor=who, now=self.now)
        else:
            server_id = self.approval.operation.server_id if what == "server" else None
            self.holds[what] = hold.begin(
                self.admin.team_id, server_id, reason="odd", actor=who, now=self.now
            )

    @rule(data=st.data(), verdict=st.sampled_from([Verdict.APPROVE, Verdict.DENY]))
    def somebody_says_a_word(self, data: st.DataObject, verdict: Verdict) -> None:
        member = data.draw(st.sampled_from([*self.approvers, self.admin, self.starter]))
        say(self.approval, member, verdict, now=self.now)

    @rule(number=st.integers(0, 1), role=st.sampled_from([Role.VIEWER, Role.APPROVER]))
    def an_admin_changes_a_role(self, number: int, role: Role) -> None:
        member = self.approvers[number]
        pk = Membership.objects.get(user=member.user, team=member.team).pk
        how: dict[str, Any] = {"team_id": member.team_id, "actor": Actor.person(self.admin)}
        members.change_role(pk, role=role, now=self.now, **how)

    # what always holds

    def _events(self, kind: str, field: str) -> list[Any]:
        found = Event.objects.filter(kind=kind, approval_id=self.approval.pk).order_by("id")
        return [event.data.get(field) for event in found]

    @invariant()
    def each_reminder_and_each_step_comes_at_most_once(self) -> None:
        parts = self._events("approval.reminded", "part")
        assert parts in ([], ["half"], ["nine tenths"], ["half", "nine tenths"])
        steps = self._events("approval.escalated", "step")
        assert steps == list(range(1, len(steps) + 1))
        assert len(steps) <= len(STEPS)

    @invariant()
    def nothing_comes_before_its_time(self) -> None:
        due = [words for at, words in PARTS.items() if at <= self.net]
        assert set(self._events("approval.reminded", "part")) <= set(due)
        assert len(self._events("approval.escalated", "step")) <= sum(
            at <= self.net for at in STEPS
        )

    @invariant()
    def what_was_due_at_the_last_look_was_done(self) -> None:
        self.approval.refresh_from_db()
        if self.approval.is_open and not self.holds:
            looked = self.looked_at_net
            assert self.approval.reminders >= sum(at <= looked for at in PARTS)
            assert self.approval.escalations >= sum(at <= looked for at in STEPS)
            assert looked < DEADLINE

    @invariant()
    def only_enough_peoples_word_lets_it_run(self) -> None:
        operation = Operation.objects.get(pk=self.approval.operation_id)
        if State(operation.state) in {State.READY, State.CALLING}:
            yes = self.approval.votes.filter(choice=Verdict.APPROVE).values("user").distinct()
            assert yes.count() >= self.quorum
            assert self.approval.decision == Verdict.APPROVE
        elif operation.state == State.AWAITING_APPROVAL:
            assert not Attempt.objects.filter(operation=operation).exists()

    @invariant()
    def time_ends_it_as_the_rule_says_in_nobodys_name(self) -> None:
        self.approval.refresh_from_db()
        if self.approval.state == ApprovalState.EXPIRED:
            assert self.net >= DEADLINE
            assert (self.approval.decision, self.approval.decided_by) == ("", None)
            ended = State.DENIED if self.at_deadline == "deny" else State.EXPIRED
            assert Operation.objects.get(pk=self.approval.operation_id).state == ended

    @invariant()
    def its_deadline_is_as_far_away_as_its_own_time_says(self) -> None:
        self.approval.refresh_from_db()
        if self.approval.is_open:
            deadline = standstill.deadline_of(self.approval, self.now)
            assert deadline is not None
            # a hold that begins at the moment the last one ended begins a microsecond later
            off = deadline - (self.now + (DEADLINE - self.net) * MINUTE)
            assert abs(off) < timedelta(milliseconds=1)

    @invariant()
    def the_admins_know_where_too_few_are_left(self) -> None:
        found = Event.objects.filter(
            kind__in=["approval.nobody_left", "approval.somebody_again"],
            approval_id=self.approval.pk,
        )
        kinds = list(found.order_by("id").values_list("kind", flat=True))
        assert all(one != other for one, other in pairwise(kinds))
        assert bool(self.approval.nobody_since) == (kinds[-1:] == ["approval.nobody_left"])

    @rule()
    def after_a_look_the_alert_says_how_it_is(self) -> None:
        self.the_clock_looks(1)
        self.approval.refresh_from_db()
        if self.approval.is_open:
            short = access.deciders(self.approval).headcount < self.quorum
            assert (self.approval.nobody_since is not None) == short


def test_the_rules_hold_whatever_happens_in_whatever_order() -> None:
    run_state_machine_as_test(
        OneGate,
        settings=hypothesis_settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
