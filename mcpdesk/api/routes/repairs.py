"""Repairs: what becomes of an operation that is lost, stuck or unknown, as on its page."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Router

from approvals import repair as verbs
from approvals.repair import Done, Proposed, Wish
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import schemas, shown_repairs
from mcpdesk.api.callers import ApiRequest, Bearer, Caller
from mcpdesk.api.schemas import CameTo, Repaired, Repairs, Seen
from mcpdesk.audit.models import Channel
from tasks_monitor import selectors
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.models import Operation, Repair

router = Router(tags=["repairs"])

_OVERTAKEN = {"responses": {409: {"description": "Not as it was read, or somebody was first"}}}


@router.get("/{uuid:pk}/repair", auth=Bearer(Scope.REPAIR), response=Repairs, url_name="repair")
def repairs(request: ApiRequest, pk: UUID) -> Any:
    """What is known and what is not, what each choice does, and what stands proposed."""
    return _shown(request.auth, pk)


@router.post(
    "/{uuid:pk}/repair",
    auth=Bearer(Scope.REPAIR),
    response={200: Repaired},
    openapi_extra=_OVERTAKEN,
)
def repair(request: ApiRequest, pk: UUID, wanted: schemas.Repair) -> Any:
    """Say what becomes of it, as it was read.

    Done at once, or proposed to a second person where the policy asks for two. What is sent again
    passes the gate again.
    """
    caller = request.auth
    wish = Wish(Choice(wanted.choice), wanted.reason, wanted.evidence, wanted.task_id)
    found = _find(caller.member, pk)
    came_to = verbs.propose(found.pk, wish=wish, seen=wanted.seen, **_how(caller))
    return _repaired(caller, pk, _came_to(came_to))


@router.post(
    "/{uuid:pk}/repair/{int:repair_id}/agree",
    auth=Bearer(Scope.REPAIR),
    response={200: Repaired},
    openapi_extra=_OVERTAKEN,
)
def agree(request: ApiRequest, pk: UUID, repair_id: int, wanted: Seen) -> Any:
    """Have carried out what somebody else proposed."""
    caller = request.auth
    found = _proposal(caller, pk, repair_id)
    return _repaired(caller, pk, _came_to(verbs.agree(found.pk, seen=wanted.seen, **_how(caller))))


@router.post(
    "/{uuid:pk}/repair/{int:repair_id}/refuse",
    auth=Bearer(Scope.REPAIR),
    response={200: Repaired},
    openapi_extra=_OVERTAKEN,
)
def refuse(request: ApiRequest, pk: UUID, repair_id: int, wanted: schemas.RefuseRepair) -> Any:
    """Say no to what somebody else proposed, and why; the operation stays as it is."""
    caller = request.auth
    found = _proposal(caller, pk, repair_id)
    verbs.refuse(found.pk, reason=wanted.reason, seen=wanted.seen, **_how(caller))
    return _repaired(caller, pk, CameTo.REFUSED)


@router.post(
    "/{uuid:pk}/repair/{int:repair_id}/take-back",
    auth=Bearer(Scope.REPAIR),
    response={200: Repaired},
    openapi_extra=_OVERTAKEN,
)
def take_back(request: ApiRequest, pk: UUID, repair_id: int, wanted: Seen) -> Any:
    """Take back what you proposed."""
    caller = request.auth
    found = _proposal(caller, pk, repair_id)
    verbs.take_back(found.pk, seen=wanted.seen, **_how(caller))
    return _repaired(caller, pk, CameTo.TAKEN_BACK)


def _how(caller: Caller) -> dict[str, Any]:
    return {"member": caller.member, "now": caller.now, "channel": Channel.API}


def _came_to(outcome: Done | Proposed) -> CameTo:
    if isinstance(outcome, Proposed):
        return CameTo.PROPOSED
    return CameTo.WAITS_FOR_APPROVAL if outcome.asks else CameTo.DONE


def _repaired(caller: Caller, pk: UUID, came_to: CameTo) -> dict[str, Any]:
    return {"came_to": came_to, "repairs": _shown(caller, pk)}


def _shown(caller: Caller, pk: UUID) -> dict[str, Any]:
    return shown_repairs.repairs(_find(caller.member, pk), caller.member)


def _find(member: Member, pk: UUID) -> Operation:
    """An operation of the team. Raises Http404."""
    return get_object_or_404(selectors.shown_operations(member), pk=pk)


def _proposal(caller: Caller, pk: UUID, repair_id: int) -> Repair:
    """One of the operation's own. Raises Http404."""
    operation = _find(caller.member, pk)
    found = Repair.objects.filter(pk=repair_id, operation=operation).first()
    if found is None:
        raise Http404
    return found
