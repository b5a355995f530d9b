"""One operation under whatever may happen to it, in any order: the rules that always hold.

The server is a model of one: it does the work once for each call that reaches it, asks, takes
answers, falls silent, refuses. Answers come in late, twice, and out of order.
"""

from collections import Counter
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from mcpdesk.audit.models import Event
from tasks_monitor.engine.checknow import check_now
from tasks_monitor.engine.drain import settle
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.engine.work import Call, Done, Work
from tasks_monitor.models import (
    Delivery,
    InputRequest,
    InputRequestSource,
    InputRequestState,
    Operation,
    Payload,
)
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, TRANSITIONS, State
from tests.engine import peer
from tests.engine.conftest import an_admin
from tests.engine.desk import LEASE_S, Clock, ScriptedDesk
from tests.engine.peer import Peer
from tests.factories import NOW, ServerFactory

pytestmark = pytest.mark.django_db

KEYS = ("a", "b")
LABELS = {state.label: state for state in State}


class Server(Peer):
    """A server that keeps to the rules, on a network that need not."""

    def __init__(self) -> None:
        super().__init__()
        self.fates: list[str] = []
        self.next_call = "task"
        self.effects = 0
        self.tasks = 0
        self.status = "working"
        self.asked_keys: dict[str, int] = {}
        self.past: list[Done] = []

    def submit(self, works: Any) -> None:
        super().submit(works)
        self.past += [done for done in [*self.held, *self._results] if done not in self.past]

    def _answer(self, work: Work) -> Any:
        fate = self.fates.pop() if self.fates else "honest"
        if fate == "refused":
            return peer.step(work, peer.Nothing(sent=False))
        said = self._say(work)
        if fate == "silent":
            return peer.step(work, peer.Nothing())
        return peer.step(work, peer.Error(-32602) if fate == "error" else said)

    def _say(self, work: Work) -> Any:
        if isinstance(work, Call):
            return self._called()
        method = peer.method_of(work)
        if method == peer.UPDATE:
            for key in work.input_responses:  # type: ignore[attr-defined]
                self.asked_keys.pop(key, None)
        elif method == peer.CANCEL and self.status != "completed":
            self.status = "cancelled"
        return peer.ACK if method != peer.GET else self.task(work.claim.task_id)

    def _called(self) -> Any:
        if self.next_call == "asks":
            return peer.asking(*KEYS)
        if self.next_call == "state":
            return peer.asking(state="s")
        self.effects += 1
        if self.next_call == "result":
            return peer.finished()
        self.tasks += 1
        self.status, self.asked_keys = "working", {}
        return peer.handle(taskId=f"task-{self.tasks}")

    def task(self, task_id: str) -> Any:
        members: dict[str, Any] = {"taskId": task_id}
        status = self.status
        if status == "working" and self.asked_keys:
            status = "input_required"
            forms = {key: peer.form(f"v{n}") for key, n in self.asked_keys.items()}
            members["inputRequests"] = forms
        if status == "completed":
            members["result"] = {"content": []}
        return peer.task(status, **members)


class OneOperation(RuleBasedStateMachine):
    """Rules are what people, servers, workers and time do; invariants are what domain.md says."""

    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        server = ServerFactory()
        self.server = Server()
        self.desk = ScriptedDesk(
            server, an_admin(server.team), Clock(NOW), self.server, self.server
        )
        self.operation = self.desk.start()
        self.sent_again = 0
        self.handles: set[str] = set()
        self.final: tuple[Any, Any] | None = None

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    # what the server and the network do

    @rule(call=st.sampled_from(["task", "asks", "state", "result"]))
    def the_server_will(self, call: str) -> None:
        self.server.next_call = call

    @rule(fates=st.lists(st.sampled_from(["honest", "silent", "refused", "error"]), max_size=3))
    def the_network_will(self, fates: list[str]) -> None:
        self.server.fates = fates

    @rule(key=st.sampled_from(KEYS), version=st.integers(1, 2))
    def the_task_asks(self, key: str, version: int) -> None:
        self.server.asked_keys[key] = version

    @rule(key=st.sampled_from(KEYS))
    def the_task_asks_no_longer(self, key: str) -> None:
        self.server.asked_keys.pop(key, None)

    @rule(status=st.sampled_from(["completed", "failed", "cancelled"]))
    def the_task_ends(self, status: str) -> None:
        self.server.status = status

    # what workers and the clock do

    @rule(holds=st.booleans())
    def a_worker_looks(self, holds: bool) -> None:
        self.server.holds = holds
        self.desk.look(self.operation)
        self.server.holds = False

    @rule(data=st.data())
    def an_answer_arrives(self, data: st.DataObject) -> None:
        if self.server.held:
            self.desk.arrive(data.draw(st.integers(0, len(self.server.held) - 1)))

    @rule(data=st.data())
    def an_answer_arrives_again(self, data: st.DataObject) -> None:
        settled = [done for done in self.server.past if done not in self.server.held]
        if settled:
            settle([data.draw(st.sampled_from(settled))], self.desk.clock)

    @rule(seconds=st.sampled_from([1.0, 60.0, LEASE_S]))
    def time_passes(self, seconds: float) -> None:
        self.desk.clock.advance(seconds)

    @rule()
    def the_clock_sweeps(self) -> None:
        self.desk.sweep()

    # what people do

    @rule(data=st.data())
    def somebody_answers(self, data: st.DataObject) -> None:
        questions = self.desk.questions(self.operation)
        if questions:
            self._try(lambda: self.desk.answer(data.draw(st.sampled_from(questions))))

    @rule()
    def somebody_cancels(self) -> None:
        self._try(lambda: self.desk.cancel(self.operation))

    @rule()
    def somebody_checks(self) -> None:
        who = {"actor": self.desk.actor, "now": self.desk.clock.now}
        self._try(lambda: check_now(self.operation.pk, **who))

    @rule(choice=st.sampled_from([Choice.SEND_AGAIN, Choice.RECORD_DONE]))
    def an_operator_decides(self, choice: Choice) -> None:
        who = {"actor": self.desk.actor, "now": self.desk.clock.now}
        decided = self._try(
            lambda: reconcile(
                self.operation.pk, choice=choice, reason="looked", evidence="seen", **who
            )
        )
        self.sent_again += decided and choice == Choice.SEND_AGAIN

    def _try(self, verb: Any) -> bool:
        try:
            verb()
        except Refused:
            return False
        return True

    # what always holds

    @invariant()
    def terminal_is_final(self) -> None:
        row = Operation.objects.filter(pk=self.operation.pk).values().get()
        payload = Payload.objects.filter(pk=self.operation.pk).values().get()
        if self.final is not None:
            assert (row, payload) == self.final
        elif State(row["state"]) in TERMINAL:
            self.final = (row, payload)

    @invariant()
    def the_work_is_done_once_but_by_an_operators_wish(self) -> None:
        assert self.server.effects <= 1 + self.sent_again

    @invariant()
    def it_has_one_handle(self) -> None:
        self.operation.refresh_from_db()
        if self.operation.task_hash:
            self.handles.add(self.operation.task_hash)
        assert len(self.handles) <= 1 + self.sent_again

    @invariant()
    def no_question_is_open_twice(self) -> None:
        open_ones = InputRequest.objects.filter(state=InputRequestState.OPEN)
        counts = Counter(open_ones.values_list("source", "round", "key_hash"))
        assert all(count == 1 for count in counts.values())

    @invariant()
    def an_answer_is_sent_again_only_where_it_may_be_lost(self) -> None:
        ignored = Counter(
            Event.objects.filter(kind="answer.ignored").values_list("data__question", flat=True)
        )
        for delivery in Delivery.objects.select_related("input_request"):
            if delivery.input_request.source == InputRequestSource.TASK:
                assert delivery.times_sent <= 1 + ignored[delivery.input_request_id]

    @invariant()
    def answers_never_change(self) -> None:
        for work in self.server.asked(peer.UPDATE):
            for delivery in Delivery.objects.filter(pk__in=work.delivery_ids):
                assert delivery.response in work.input_responses.values()

    @invariant()
    def every_change_of_state_has_its_event_and_is_in_the_table(self) -> None:
        state = State.READY
        for event in Event.objects.filter(kind="operation.moved").order_by("id"):
            assert LABELS[event.data["before"]] == state
            state = LABELS[event.data["after"]]
            assert state in TRANSITIONS[LABELS[event.data["before"]]]
        self.operation.refresh_from_db()
        assert self.operation.state == state

    @invariant()
    def request_ids_are_never_used_twice(self) -> None:
        ids = [work.request_id for work in self.server.asked(peer.CALL)]
        assert len(ids) == len(set(ids)) <= self.operation.attempts_made

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """It has ended, somebody has to decide or to answer, or a worker will look at it."""
        operation = self.operation
        operation.refresh_from_db()
        state = State(operation.state)
        if state in TERMINAL:
            assert operation.due_at is None
        elif state == State.CALLING:
            assert operation.leased_until is not None
        elif state not in NEEDS_OPERATOR and operation.due_at is None:
            assert not operation.has_task
            assert self.desk.questions(operation)


def test_the_rules_hold_whatever_happens_in_whatever_order() -> None:
    run_state_machine_as_test(
        OneOperation,
        settings=hypothesis_settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
