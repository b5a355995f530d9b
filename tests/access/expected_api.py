"""The access matrix of the API as data: each of its routes has a row here, for each method.

What follows from the rules of tokens is not written down again: without the row's scope a 403, with
a token that opens nothing a 401, and what belongs to another team is a 404.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpdesk.accounts.tokens import Scope
from tests.access.actors import ADMIN, APPROVER, AUDITOR, EVERYBODY, OPERATOR
from tests.access.expected import OPERATORS, Statuses, may

#: Beside the roles of people: a token that is nobody's.
SERVICE = "service"


@dataclass(frozen=True, slots=True)
class ApiRow:
    """One method of one route. Names in braces are things of the team (world.py).

    `says`: what each role is answered with a token of every scope; `service`: and a service.
    `acts`: whether a request that is not refused changes something.
    `queries`: the most that a request may ask the database.
    """

    scope: Scope
    says: Statuses
    service: int
    at: str = ""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    foreign: int = 404
    acts: bool = False
    queries: int = 30


EVERYBODYS = may(*EVERYBODY)
STARTED = may(*OPERATORS, answer=202)
HISTORY = may(AUDITOR, ADMIN)
#: Who does not decide at all is told of their role; who decides, that this is not theirs.
DECIDED = may(APPROVER, ADMIN)

API_ROWS: dict[tuple[str, str], ApiRow] = {
    ("GET", "/me"): ApiRow(Scope.READ, EVERYBODYS, 200),
    ("GET", "/operations"): ApiRow(Scope.READ, EVERYBODYS, 200, queries=16),
    ("POST", "/operations"): ApiRow(
        Scope.START,
        STARTED,
        202,
        body={"server": "{server name}", "tool": "{tool}"},
        headers={"Idempotency-Key": "k"},
        foreign=422,
        acts=True,
        queries=60,
    ),
    ("POST", "/operations/adopt"): ApiRow(
        Scope.START,
        STARTED,
        202,
        body={"server": "{server name}", "tool": "{tool}", "task_id": "t-1"},
        foreign=422,
        acts=True,
    ),
    ("GET", "/operations/{uuid:pk}"): ApiRow(
        Scope.READ, EVERYBODYS, 200, at="/operations/{question operation}", queries=16
    ),
    ("POST", "/operations/{uuid:pk}/cancel"): ApiRow(
        Scope.CANCEL, STARTED, 202, at="/operations/{question operation}/cancel", acts=True
    ),
    ("GET", "/operations/{uuid:pk}/repair"): ApiRow(
        Scope.REPAIR, may(*OPERATORS), 403, at="/operations/{broken operation}/repair"
    ),
    ("POST", "/operations/{uuid:pk}/repair"): ApiRow(
        Scope.REPAIR,
        may(*OPERATORS),
        403,
        at="/operations/{unknown operation}/repair",
        body={"choice": "record_failed", "reason": "looked", "seen": "{seen of unknown operation}"},
        acts=True,
        queries=90,
    ),
    # one's own proposal is nobody's to agree to or refuse but somebody else's
    ("POST", "/operations/{uuid:pk}/repair/{int:repair_id}/agree"): ApiRow(
        Scope.REPAIR,
        may(ADMIN),
        403,
        at="/operations/{broken operation}/repair/{repair}/agree",
        body={"seen": "{seen of broken operation}"},
        acts=True,
        queries=90,
    ),
    ("POST", "/operations/{uuid:pk}/repair/{int:repair_id}/refuse"): ApiRow(
        Scope.REPAIR,
        may(ADMIN),
        403,
        at="/operations/{broken operation}/repair/{repair}/refuse",
        body={"reason": "it is there", "seen": "{seen of broken operation}"},
        acts=True,
        queries=60,
    ),
    ("POST", "/operations/{uuid:pk}/repair/{int:repair_id}/take-back"): ApiRow(
        Scope.REPAIR,
        may(OPERATOR),
        403,
        at="/operations/{broken operation}/repair/{repair}/take-back",
        body={"seen": "{seen of broken operation}"},
        acts=True,
        queries=60,
    ),
    ("GET", "/approvals"): ApiRow(Scope.READ, EVERYBODYS, 200, queries=16),
    ("GET", "/approvals/history"): ApiRow(Scope.READ, EVERYBODYS, 200, queries=16),
    ("GET", "/approvals/{uuid:pk}"): ApiRow(
        Scope.READ, EVERYBODYS, 200, at="/approvals/{question}"
    ),
    ("POST", "/approvals/{uuid:pk}/decision"): ApiRow(
        Scope.DECIDE,
        DECIDED,
        403,
        at="/approvals/{question}/decision",
        body={"binding": "{token of question}", "choice": "decline"},
        acts=True,
        queries=160,
    ),
    ("GET", "/servers"): ApiRow(Scope.READ, EVERYBODYS, 200, queries=16),
    ("GET", "/servers/{name}/tools"): ApiRow(
        Scope.READ, EVERYBODYS, 200, at="/servers/{server name}/tools", queries=16
    ),
    ("POST", "/exports"): ApiRow(
        Scope.EXPORT,
        may(AUDITOR, ADMIN, answer=201),
        201,
        body={"subject": "operations"},
        foreign=201,
        acts=True,
    ),
    # an export is whoever's who began it
    ("GET", "/exports/{uuid:pk}"): ApiRow(
        Scope.EXPORT, may(AUDITOR, ADMIN, answer=404), 404, at="/exports/{question}"
    ),
    ("GET", "/exports/{uuid:pk}/file"): ApiRow(
        Scope.EXPORT, may(AUDITOR, ADMIN, answer=404), 404, at="/exports/{question}/file"
    ),
    # reading the log is an event of it
    ("GET", "/events"): ApiRow(Scope.EXPORT, HISTORY, 200, acts=True, queries=20),
}

#: More to read, so that all that anybody may read is met somewhere.
MORE_TO_READ = (
    "/operations/{question operation}",
    "/operations/{broken operation}",
    "/approvals/{question}",
    "/operations/{others' question operation}",
    "/operations/{answered operation}",
    "/operations/{viewer's operation}",
    "/operations/{unknown operation}",
    "/operations/{gate operation}",
    "/operations?state=completed",
    "/approvals?tab=team",
    "/approvals?tab=decided",
    "/approvals/{claimed}",
    "/approvals/{link}",
    "/approvals/{others' question}",
    "/approvals/{answered}",
    "/approvals/{viewer's}",
    "/approvals/{gate}",
    "/approvals/{approved gate}",
)
