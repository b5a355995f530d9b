"""Operations and items of a team, with a mark in everything that they carry."""

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.models import (
    Approval,
    ApprovalState,
    Audience,
    Choice,
    Comment,
    Draft,
    Remembered,
    Shape,
    Verdict,
    Vote,
)
from tasks_monitor.models import (
    DeliveryState,
    InputRequestState,
    Operation,
    Payload,
    Repair,
    RepairState,
    Server,
)
from tasks_monitor.states import TERMINAL, State
from tests.access.actors import (
    ADMIN,
    APPROVER,
    OPERATOR,
    VIEWER,
)
from tests.access.household import NOT_EVEN_ADMINS, PUT_TO_APPROVERS, PUT_TO_OTHERS, Household
from tests.factories import (
    ApprovalFactory,
    AttemptFactory,
    DeliveryFactory,
    InputRequestFactory,
    OperationFactory,
    form_params,
    url_params,
)


def _operation(
    household: Household,
    server: Server,
    thing: str,
    readers: Collection[str],
    starter: str = OPERATOR,
    **columns: Any,
) -> Operation:
    """An operation with a mark in everything that it carries."""

    def mark(label: str) -> str:
        return household.mark(thing, label, readers)

    def never(label: str) -> str:
        return household.mark(thing, label, NOT_EVEN_ADMINS)

    state = columns.setdefault("state", State.INPUT_REQUIRED)
    now = timezone.now()
    operation: Operation = OperationFactory(
        server=server,
        tool_name=household.ids["tool"],
        started_by=household.people[starter],
        reason=household.name("why it was started"),
        explanation=household.name("explanation"),
        task_id=never("task id"),
        arguments={"project": mark("arguments")},
        created_at=now,
        updated_at=now,
        finished_at=now if state in TERMINAL else None,
        **columns,
    )
    Payload.objects.filter(operation=operation).update(
        request_state=never("request state"),
        notes=[mark("notes")],
        decisions=[
            {"at": now.isoformat(), "by": "Oskar", "choice": "x", "reason": mark("decisions")}
        ],
        **_outcome(State(state), mark),
    )
    AttemptFactory(operation=operation, number=1, request_id=1, task_id=never("late task id"))
    household.ids[f"{thing} operation"] = operation.pk
    return operation


def _outcome(state: State, mark: Callable[[str], str]) -> dict[str, Any]:
    if state in TERMINAL:
        return {"result": {"content": [{"type": "text", "text": mark("result")}]}}
    said: dict[str, Any] = {"status_message": mark("status message")}
    if state == State.UNKNOWN:
        said |= {"error": {"code": -32000, "message": mark("error")}}
    return said


def _question(
    household: Household, operation: Operation, thing: str, readers: Collection[str], **item: Any
) -> Approval:
    """A question of the server with a mark in all its words; its item."""

    def mark(label: str) -> str:
        return household.mark(thing, label, readers)

    field_of_form = {"type": "string", "title": mark("field"), "description": mark("help")}
    decided = item.get("state") == ApprovalState.DECIDED
    request = InputRequestFactory(
        operation=operation,
        key=household.mark(thing, "key", NOT_EVEN_ADMINS),
        params=form_params(mark("question"), note=field_of_form),
        state=InputRequestState.ANSWERED if decided else InputRequestState.OPEN,
        taken_version=1,
    )
    now = timezone.now()
    approval: Approval = ApprovalFactory(
        input_request=request, shape=Shape.FORM, created_at=now, **item
    )
    _said(household, approval, thing, readers)
    if decided:
        DeliveryFactory(
            input_request=request,
            response={"action": "accept", "content": {"note": mark("answer")}},
            answered_by=approval.decided_by,
            state=DeliveryState.OBSERVED,
            saved_at=now,
        )
    household.ids[thing] = approval.pk
    return approval


def _said(household: Household, approval: Approval, thing: str, readers: Collection[str]) -> None:
    """What people wrote about an item: comments for its readers, drafts for nobody else."""
    colleague, now = household.people["colleague"], timezone.now()
    Comment.objects.create(
        approval=approval, user=colleague, text=household.mark(thing, "comment", readers), at=now
    )
    draft = {"note": household.mark(thing, "somebody's draft", NOT_EVEN_ADMINS)}
    Draft.objects.create(approval=approval, user=colleague, submitted=draft, saved_at=now)


def asked(household: Household, server: Server) -> None:
    """A question that waits for the team's approvers; the approver has begun to write."""
    thing = "question"
    operation = _operation(household, server, thing, PUT_TO_APPROVERS)
    approval = _question(household, operation, thing, PUT_TO_APPROVERS)
    own = household.mark(thing, "draft", (APPROVER,))
    Draft.objects.create(
        approval=approval,
        user=household.people[APPROVER],
        submitted={"note": own},
        saved_at=timezone.now(),
    )


def claimed(household: Household, server: Server) -> None:
    """A question that a colleague works on."""
    thing = "claimed"
    operation = _operation(household, server, thing, PUT_TO_APPROVERS)
    _question(
        household,
        operation,
        thing,
        PUT_TO_APPROVERS,
        claimed_by=household.people["colleague"],
        claimed_until=timezone.now() + timedelta(minutes=15),
    )


def link(household: Household, server: Server) -> None:
    """A page to open, to which the approver has agreed; the server waits for them."""
    thing, now = "link", timezone.now()
    operation = _operation(household, server, thing, PUT_TO_APPROVERS)
    address = f"https://accounts.example/{household.mark(thing, 'address', PUT_TO_APPROVERS)}"
    request = InputRequestFactory(
        operation=operation,
        key=household.mark(thing, "key", NOT_EVEN_ADMINS),
        params=url_params(address, household.mark(thing, "question", PUT_TO_APPROVERS)),
        state=InputRequestState.ANSWERED,
        taken_version=1,
    )
    decided = {**_decided_by_colleague(household), "decided_by": household.people[APPROVER]}
    approval = ApprovalFactory(input_request=request, shape=Shape.LINK, created_at=now, **decided)
    DeliveryFactory(
        input_request=request,
        response={"action": "accept"},
        answered_by=approval.decided_by,
        saved_at=now,
    )
    household.ids[thing] = approval.pk


def asked_of_others(household: Household, server: Server) -> None:
    """A question that was put to one named person, who has proposed an answer."""
    thing = "others' question"
    operation = _operation(household, server, thing, PUT_TO_OTHERS)
    proposal = {"note": household.mark(thing, "proposal", PUT_TO_OTHERS)}
    approval = _question(
        household,
        operation,
        thing,
        PUT_TO_OTHERS,
        audience=Audience.PEOPLE,
        proposal={"action": "accept", "content": proposal},
        proposed_by=household.people["colleague"],
    )
    approval.people.set([household.people["colleague"]])


def completed(household: Household, server: Server) -> None:
    """An operation that is over, whose question was answered by a colleague."""
    thing = "answered"
    operation = _operation(household, server, thing, PUT_TO_APPROVERS, state=State.COMPLETED)
    _question(household, operation, thing, PUT_TO_APPROVERS, **_decided_by_colleague(household))


def of_the_viewer(household: Household, server: Server) -> None:
    """What the viewer started when they still might, and a named person answered."""
    thing, readers = "viewer's", (VIEWER, *PUT_TO_OTHERS)
    operation = _operation(household, server, thing, readers, starter=VIEWER, state=State.COMPLETED)
    decided = _decided_by_colleague(household)
    _question(household, operation, thing, readers, audience=Audience.PEOPLE, **decided)


def _decided_by_colleague(household: Household) -> dict[str, Any]:
    now = timezone.now()
    return {
        "state": ApprovalState.DECIDED,
        "decision": Choice.ACCEPT,
        "decided_by": household.people["colleague"],
        "decided_at": now,
        "closed_at": now,
    }


def unknown(household: Household, server: Server) -> None:
    """An operation that an operator has to look after; something was tried before."""
    operation = _operation(household, server, "unknown", PUT_TO_OTHERS, state=State.UNKNOWN)
    _repair(household, operation, "unknown", RepairState.DONE)


def broken(household: Household, server: Server) -> None:
    """An operation for which an operator proposed what is to become of it."""
    operation = _operation(household, server, "broken", PUT_TO_OTHERS, state=State.LOST)
    household.ids["repair"] = _repair(household, operation, "broken", RepairState.PROPOSED).pk


def _repair(household: Household, operation: Operation, thing: str, state: RepairState) -> Repair:
    def mark(label: str) -> str:
        return household.mark(thing, label, (OPERATOR, ADMIN))

    return Repair.objects.create(
        operation=operation,
        choice="record_done",
        content={"reason": mark("repair"), "evidence": mark("evidence"), "task_id": ""},
        state=state,
        proposed_by=household.people[OPERATOR],
        proposed_at=timezone.now(),
    )


def gate(household: Household, server: Server) -> None:
    """A call that waits for two approvers; one has approved, and said why."""
    thing, now = "gate", timezone.now()
    operation = _operation(
        household, server, thing, PUT_TO_APPROVERS, state=State.AWAITING_APPROVAL
    )
    ask = {"audience": "approvers", "quorum": 2, "four_eyes": True, "at_deadline": "expire"}
    approval = Approval.objects.create(
        team=household.team,
        operation=operation,
        server=server,
        tool_name=operation.tool_name,
        started_by=operation.started_by,
        kind="gate",
        shape=Shape.RUN,
        audience=Audience.APPROVERS,
        # else it would ask whether the call is sent again
        created_at=operation.created_at,
        deadline_at=now + timedelta(days=1),
        four_eyes=True,
        policy={"rule": household.name("snapshot"), "number": 1, "failed": False, "ask": ask},
    )
    Vote.objects.create(
        approval=approval,
        user=household.people["colleague"],
        version=1,
        choice=Verdict.APPROVE,
        at=now,
        reason=household.mark(thing, "reason", PUT_TO_APPROVERS),
    )
    _said(household, approval, thing, PUT_TO_APPROVERS)
    household.ids[thing] = approval.pk


def remembered(household: Household, server: Server) -> None:
    """A call that the approver has just approved, and what a colleague had remembered."""
    thing, now = "approved gate", timezone.now()
    operation = OperationFactory(
        server=server,
        tool_name=household.ids["tool"],
        state=State.COMPLETED,
        started_by=household.people[OPERATOR],
    )
    ask = {"audience": "approvers", "remember": True}
    approval = Approval.objects.create(
        team=household.team,
        operation=operation,
        server=server,
        tool_name=operation.tool_name,
        started_by=operation.started_by,
        kind="gate",
        shape=Shape.RUN,
        audience=Audience.APPROVERS,
        created_at=now,
        four_eyes=True,
        policy={"rule": household.name("snapshot"), "number": 1, "failed": False, "ask": ask},
        state=ApprovalState.DECIDED,
        decision=Verdict.APPROVE,
        decided_by=household.people[APPROVER],
        decided_at=now,
        closed_at=now,
    )
    Vote.objects.create(
        approval=approval,
        user=household.people[APPROVER],
        version=1,
        choice=Verdict.APPROVE,
        at=now,
    )
    one = Remembered.objects.create(
        team=household.team,
        server=server,
        tool_name=household.ids["tool"],
        created_by=household.people["colleague"],
        created_at=now,
        ends_at=now + timedelta(hours=1),
    )
    household.ids |= {thing: approval.pk, "remembered": one.pk}
