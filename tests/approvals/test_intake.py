"""Intake: a question opens an item, its end closes it, and each is taken in once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Any

import pytest
from django.db import IntegrityError, connection

from approvals import intake, tasks
from approvals.models import Approval, ApprovalState, Audience, Shape
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Answerers, InputRequest, InputRequestState
from tasks_monitor.signals import input_requests_changed
from tests.approvals.conftest import Ask, Join
from tests.factories import (
    NOW,
    InputRequestFactory,
    OperationFactory,
    form_params,
    url_params,
)

pytestmark = pytest.mark.django_db


def _change(approval: Approval, state: InputRequestState) -> None:
    """As the engine does it: the state, and a version that has not been taken in."""
    request = approval.input_request
    InputRequest.objects.filter(pk=request.pk).update(state=state, version=request.version + 1)
    intake.take_in(approval.operation_id, now=NOW)
    approval.refresh_from_db()


def test_a_new_question_opens_an_item_with_its_event(ask: Ask) -> None:
    approval = ask()
    assert approval.is_open
    assert approval.team_id == approval.operation.team_id
    opened = Event.objects.get(approval_id=approval.pk, kind="approval.opened")
    assert opened.data == {"audience": "the team's approvers"}


def test_taking_in_again_changes_nothing(ask: Ask) -> None:
    approval = ask()
    written = Event.objects.count()
    assert intake.take_in(approval.operation_id, now=NOW) == 0
    assert Approval.objects.get() == approval
    assert Event.objects.count() == written


def test_an_operation_nobody_knows_has_nothing_to_take_in(db: None) -> None:
    assert intake.take_in(OperationFactory.build().pk, now=NOW) == 0


def test_a_question_is_put_to_whoever_started_the_operation(ask: Ask, operator: Member) -> None:
    assert ask(questions_to=Answerers.REQUESTER).audience == Audience.REQUESTER


def test_what_nobody_started_is_put_to_the_approvers(ask: Ask) -> None:
    approval = ask(questions_to=Answerers.REQUESTER, started_by=None)
    assert approval.audience == Audience.APPROVERS


def test_a_requester_who_left_is_not_waited_for(ask: Ask, join: Join) -> None:
    gone = join(Role.OPERATOR).user
    gone.is_active = False
    gone.save()
    assert ask(questions_to=Answerers.REQUESTER, started_by=gone).audience == Audience.APPROVERS


def test_a_requester_who_may_no_longer_decide_is_not_waited_for(ask: Ask, join: Join) -> None:
    viewer = join(Role.VIEWER).user
    approval = ask(questions_to=Answerers.REQUESTER, started_by=viewer)
    assert approval.audience == Audience.APPROVERS


def test_the_audience_stays_when_the_operation_is_put_to_others_later(ask: Ask) -> None:
    approval = ask(questions_to=Answerers.REQUESTER)
    approval.operation.questions_to = Answerers.APPROVERS
    approval.operation.save()
    InputRequest.objects.update(version=2)
    intake.take_in(approval.operation_id, now=NOW)
    approval.refresh_from_db()
    assert approval.audience == Audience.REQUESTER


@pytest.mark.parametrize(
    ("state", "becomes"),
    [
        (InputRequestState.WITHDRAWN, ApprovalState.WITHDRAWN),
        (InputRequestState.SUPERSEDED, ApprovalState.SUPERSEDED),
        (InputRequestState.EXPIRED, ApprovalState.EXPIRED),
        (InputRequestState.CLOSED, ApprovalState.CLOSED),
    ],
)
def test_an_item_ends_under_the_name_its_question_ended_with(
    ask: Ask, state: InputRequestState, becomes: ApprovalState
) -> None:
    approval = ask()
    _change(approval, state)
    assert approval.state == becomes
    assert approval.closed_at == NOW
    assert approval.version == 2
    assert (approval.decision, approval.decided_by) == ("", None)
    reason = Event.objects.get(kind="approval.closed").data["reason"]
    assert reason.partition(":")[0] == becomes.label


def test_a_changed_question_of_the_same_key_is_a_new_item(ask: Ask) -> None:
    first = ask()
    old = first.input_request
    _change(first, InputRequestState.SUPERSEDED)
    second = ask(operation=first.operation, key=old.key, revision=2, message="Really?")
    assert first.state == ApprovalState.SUPERSEDED
    assert second.is_open
    assert second.decision == ""


def test_a_touched_question_makes_open_forms_stale(ask: Ask) -> None:
    approval = ask()
    _change(approval, InputRequestState.OPEN)
    assert approval.is_open
    assert approval.version == 2


def test_open_pages_are_told_of_a_touched_question(
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]],
) -> None:
    told: list[dict[str, Any]] = []
    approval = ask()
    monkeypatch.setattr("mcpdesk.audit.announce.post", lambda group, what: told.append(what))
    with django_capture_on_commit_callbacks(execute=True):
        _change(approval, InputRequestState.OPEN)
    assert [what["approval"] for what in told] == [str(approval.pk)]


def test_a_question_that_came_and_went_unseen_opens_nothing(db: None) -> None:
    request = InputRequestFactory(state=InputRequestState.WITHDRAWN)
    assert intake.take_in(request.operation_id, now=NOW) == 1
    assert not Approval.objects.exists()
    request.refresh_from_db()
    assert request.taken_version == request.version


def test_a_question_that_this_desk_does_not_offer_still_becomes_an_item(ask: Ask) -> None:
    approval = ask(method="sampling/createMessage", problem="This desk does not offer that.")
    assert approval.is_open
    assert approval.shape == Shape.UNOFFERED


@pytest.mark.parametrize(
    ("params", "shape"),
    [
        (form_params(), Shape.CONFIRM),
        (form_params(name={"type": "string"}), Shape.FORM),
        (form_params(window={"type": "string", "enum": ["now", "later"]}), Shape.CHOOSE),
        (url_params("https://pay.example.com/"), Shape.LINK),
        (form_params(nested={"type": "object"}), Shape.UNSHOWN),
    ],
)
def test_an_item_knows_what_kind_of_answer_it_takes(
    ask: Ask, params: dict[str, object], shape: Shape
) -> None:
    assert ask(params=params).shape == shape


def test_a_sweep_finds_what_nobody_rang_for(db: None) -> None:
    request = InputRequestFactory()
    tasks.sweep()
    assert Approval.objects.get().input_request == request


def test_one_operation_that_fails_does_not_keep_the_others_waiting(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = InputRequestFactory(), InputRequestFactory()
    take_in = intake.take_in

    def failing(operation_id: object, **more: object) -> int:
        if operation_id == bad.operation_id:
            raise RuntimeError("broken")
        return take_in(operation_id, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(intake, "take_in", failing)
    intake.sweep(NOW)
    assert [a.input_request for a in Approval.objects.all()] == [good]


def test_the_engine_rings_once_questions_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr("approvals.tasks.take_in.delay", rung.append)
    operation = OperationFactory()
    input_requests_changed.send(None, operation_id=operation.pk)
    assert rung == [str(operation.pk)]


def _intake_of_two(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """Two threads take the same question in, both having read before either writes."""
    request = InputRequestFactory()
    both_read = threading.Barrier(2)
    untaken = intake._untaken

    def after_both_read(operation: object) -> list[InputRequest]:
        found = untaken(operation)  # type: ignore[arg-type]
        # broken: the other one waits for the lock, as it should
        with suppress(threading.BrokenBarrierError):
            both_read.wait(timeout=1)
        return found

    monkeypatch.setattr(intake, "_untaken", after_both_read)

    def take(_: int) -> BaseException | None:
        try:
            intake.take_in(request.operation_id, now=NOW)
        except IntegrityError as error:
            return error
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(take, range(2)))


@pytest.mark.django_db(transaction=True)
def test_two_intakes_at_once_make_one_item(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _intake_of_two(monkeypatch) == [None, None]
    assert Approval.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_two_intakes_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: it is the lock that keeps them apart, and the unique key stands behind it."""
    from tasks_monitor.models import Operation

    monkeypatch.setattr(intake, "_locked", lambda pk: Operation.objects.get(pk=pk))
    errors = _intake_of_two(monkeypatch)
    assert sum(error is not None for error in errors) == 1
    assert Approval.objects.count() == 1
