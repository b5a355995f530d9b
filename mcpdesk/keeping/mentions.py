"""Where a person's name, or what they wrote, stands inside what is kept for others."""

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from mcpdesk.accounts.models import User
from mcpdesk.audit.erasing import names_in_log
from mcpdesk.audit.models import Event
from mcpdesk.notify import retention
from mcpdesk.notify.models import Alert, Message
from tasks_monitor.models import Operation, Payload, Repair, RepairState

_NOTHING_SAID = {"reason": "", "evidence": "", "task_id": ""}


def names_of(user: User) -> frozenset[str]:
    """Every name and address that the person has, or has had in the log."""
    return frozenset({user.name, user.email, *names_in_log(user)} - {""})


def forget_repairs(user: User, names: Collection[str]) -> list[UUID]:
    """Take out of repairs what this person wrote, and their name; the operations concerned.

    Locked until the transaction ends, those operations first: as whoever repairs one locks it, and
    adds a decision to those that are read and written here.
    """
    found = _repaired_by(user)
    locked = Operation.objects.filter(pk__in=found).order_by("pk").select_for_update(no_key=True)
    list(locked.values_list("pk", flat=True))
    mine = Repair.objects.filter(Q(proposed_by=user) | Q(decided_by=user))
    for repair in mine.select_for_update(of=("self",)):
        repair.content = _without_theirs(repair, user)
        repair.save(update_fields=["content"])
    for payload in Payload.objects.filter(operation__in=found, decisions__isnull=False):
        payload.decisions = [_decision(one, names, str(user)) for one in payload.decisions]
        payload.save(update_fields=["decisions"])
    # it says who decided, and why
    Operation.objects.filter(pk__in=found).update(explanation="")
    return found


def forget_in_messages(team_ids: Collection[int], names: Collection[str], now: datetime) -> int:
    """Messages to others that name the person: they do not leave, and say nothing any more."""
    messages, named = Message.objects.filter(team__in=team_ids).only("pk", "content"), _any(names)
    naming = [one.pk for one in messages.iterator(500) if _names(one.content, named)]
    found = Message.objects.filter(pk__in=naming)
    retention.take_back(found, now)
    return found.update(content={})


def forget_in_alerts(team_ids: Collection[int], names: Collection[str], instead: str) -> None:
    """Alerts keep their sentence, with the new name in it."""
    named = _any(names)
    for alert in Alert.objects.filter(team__in=team_ids).iterator(500):
        if named.search(alert.sentence):
            alert.sentence = named.sub(lambda _: instead, alert.sentence)
            alert.save(update_fields=["sentence"])


def _repaired_by(user: User) -> list[UUID]:
    repairs = Repair.objects.filter(Q(proposed_by=user) | Q(decided_by=user))
    events = Event.objects.filter(kind="operation.reconciled", actor=user)
    known = events.values_list("operation_id", flat=True)
    ids = {*repairs.values_list("operation_id", flat=True), *known}
    return [pk for pk in ids if pk is not None]


def _without_theirs(repair: Repair, user: User) -> dict[str, Any]:
    """What somebody else wrote of it stays; so does the place of what a proposal has to have."""
    content = dict(repair.content)
    if repair.proposed_by_id == user.pk:
        content |= _NOTHING_SAID
    if repair.decided_by_id == user.pk and repair.state == RepairState.REFUSED:
        content["refused_because"] = ""
    return content


def _decision(decision: dict[str, Any], names: Collection[str], instead: str) -> dict[str, Any]:
    """Who agreed to another's proposal wrote nothing of it; whoever proposed it wrote it all."""
    writer = decision.get("proposed_by", decision.get("by"))
    kept = {key: instead if _is_one(key, text, names) else text for key, text in decision.items()}
    if writer in names:
        kept.pop("evidence", None)
        kept["reason"] = ""
    return kept


def _is_one(key: str, text: Any, names: Collection[str]) -> bool:
    return key in {"by", "proposed_by"} and text in names


def _any(names: Collection[str]) -> re.Pattern[str]:
    """Finds each of these names where it stands for itself: somebody may be called “Al”."""
    # the longest first: an address before the name that it begins with
    found = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{found})(?!\w)")


def _names(content: object, named: re.Pattern[str]) -> bool:
    return any(named.search(text) for text in _texts(content))


def _texts(value: object) -> Iterator[str]:
    """Every text in a message's content, as it is: no name of a field, and nothing escaped."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
