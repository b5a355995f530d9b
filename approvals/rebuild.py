"""Writes the words anew that operations and items are found by, from what is stored now.

After a payload was deleted (its words must go with it), after a change of keys, and for what was
there before words were kept. Rows above the engine are read here: votes, repairs.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from cryptography.fernet import InvalidToken
from django.db import transaction

from approvals import words
from approvals.models import Approval, Vote
from mcpdesk import blind
from tasks_monitor.engine.words import message_of, of_new, sealed
from tasks_monitor.models import HistoryEntry, InputRequest, Operation, Payload, Repair

#: What of a repair's content people wrote.
_WRITTEN = ("reason", "evidence", "refused_because")


@transaction.atomic
def rebuild(operation_ids: Sequence[UUID]) -> int:
    """Write the words of these operations and their items anew; returns how many operations.

    Part of the transaction that deleted what they were made of. What no key opens has no words.
    """
    operations = Operation.objects.select_for_update(of=("self",), no_key=True).filter(
        pk__in=operation_ids
    )
    found = list(operations.select_related("server").defer("task_id").order_by("pk"))
    for operation in found:
        _rebuild(operation)
    return len(found)


def _rebuild(operation: Operation) -> None:
    team_id = operation.team_id
    numbers = [*of_new(operation), *blind.open_numbers(team_id, operation.explanation)]
    numbers += sealed(team_id, *_carried(operation))
    deciders: list[int] = []
    for approval in Approval.objects.filter(operation=operation).defer("proposal"):
        marks, reasons = _said(approval)
        asked = _opened(InputRequest, approval.input_request_id, "params")
        own = words.of_item(operation, approval.pk, asked)
        Approval.objects.filter(pk=approval.pk).update(words=_bounded([*marks, *own, *reasons]))
        deciders += marks
        numbers += reasons
    # in front, as words.add() puts them: a server that says much crowds nobody out
    HistoryEntry.objects.filter(pk=operation.pk).update(words=_bounded([*deciders, *numbers]))


def _said(approval: Approval) -> tuple[list[int], list[int]]:
    """The marks of who voted, and the words in which they did."""
    marks: list[int] = []
    words: list[int] = []
    for vote in Vote.objects.filter(approval=approval).defer("reason"):
        reason = _opened(Vote, vote.pk, "reason")
        marks.append(blind.mark(approval.team_id, blind.DECIDED, vote.user_id))
        words += sealed(approval.team_id, reason if isinstance(reason, str) else "")
    return marks, words


def _carried(operation: Operation) -> list[str]:
    """What the server said and asked, and what people wrote when they repaired it."""
    message = _opened(Payload, operation.pk, "status_message")
    asked = InputRequest.objects.filter(operation=operation).values_list("pk", flat=True)
    questions = [_opened(InputRequest, pk, "params") for pk in asked]
    repairs = Repair.objects.filter(operation=operation).values_list("pk", flat=True)
    contents = [_opened(Repair, pk, "content") for pk in repairs]
    return [
        message if isinstance(message, str) else "",
        *(message_of(params) for params in questions),
        *_written(contents),
    ]


def _written(contents: Iterable[object]) -> list[str]:
    of_people = [one for one in contents if isinstance(one, dict)]
    return [str(content.get(name) or "") for content in of_people for name in _WRITTEN]


def _opened(model: type, pk: object, column: str) -> object:
    """One encrypted value; None where it is gone, or where no key opens it."""
    try:
        return model.objects.filter(pk=pk).values_list(column, flat=True).first()  # type: ignore[attr-defined]
    except InvalidToken:
        return None


def _bounded(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))[: blind.MAX_NUMBERS]
