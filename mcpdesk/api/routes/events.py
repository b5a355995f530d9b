"""The team's log, from a cursor on."""

from datetime import timedelta
from typing import Annotated, Any, Final

from ninja import Query, Router

from mcpdesk.accounts.access import in_team
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import shown
from mcpdesk.api.callers import ApiRequest, Bearer
from mcpdesk.api.schemas import Events
from mcpdesk.audit.models import Event
from mcpdesk.audit.reading import note_reading

router = Router(tags=["events"])

#: Ids are given out before their transactions commit, in whatever order: what is younger is left
#: for the next time, so that whoever follows the cursor misses none.
SETTLES: Final = timedelta(seconds=5)
_MOST_ID: Final = 2**63 - 1


@router.get("", auth=Bearer(Scope.EXPORT), response=Events)
def events(
    request: ApiRequest,
    after: Annotated[int, Query(ge=0, le=_MOST_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Any:
    """Events behind `after`, oldest first, at least 5 s after they happened."""
    caller = request.auth
    note_reading(caller.member, caller.now, caller.actor)
    settled = Event.objects.filter(pk__gt=after, at__lte=caller.now - SETTLES)
    found = list(in_team(caller.member, settled).order_by("pk")[:limit])
    return {
        "items": [shown.event(one) for one in found],
        "after": found[-1].pk if found else after,
    }
