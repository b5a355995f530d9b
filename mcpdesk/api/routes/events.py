"""The team's log, from a cursor on."""

from typing import Annotated, Any, Final

from ninja import Query, Router

from mcpdesk.accounts.access import in_team
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import shown
from mcpdesk.api.callers import ApiRequest, Bearer
from mcpdesk.api.schemas import Events
from mcpdesk.audit.locks import Busy, settled_up_to
from mcpdesk.audit.models import Event
from mcpdesk.audit.reading import note_reading

router = Router(tags=["events"])

_MOST_ID: Final = 2**63 - 1


@router.get("", auth=Bearer(Scope.EXPORT), response=Events)
def events(
    request: ApiRequest,
    after: Annotated[int, Query(ge=0, le=_MOST_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Any:
    """Events behind `after`, oldest first. Whoever follows the cursor misses none."""
    caller = request.auth
    note_reading(caller.member, caller.now, caller.actor)
    behind = in_team(caller.member, Event.objects.filter(pk__gt=after))
    found = list(behind.filter(pk__lte=_complete_to(after)).order_by("pk")[:limit])
    return {
        "items": [shown.event(one) for one in found],
        "after": found[-1].pk if found else after,
    }


def _complete_to(after: int) -> int:
    """The id up to which no event can still turn up; `after`: not known at this moment.

    Ids are given out before their transactions commit, in whatever order: a cursor that passed one
    which is still to come would leave it out for ever.
    """
    try:
        return settled_up_to()
    except Busy:
        return after
