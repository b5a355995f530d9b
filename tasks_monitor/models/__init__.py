"""What the engine keeps: servers and their tools, operations, attempts, questions, deliveries.

PostgreSQL holds the invariants; each constraint and index names the rule or query it serves.
Payloads (arguments, results, questions, answers, `requestState`, credentials, task ids) are
encrypted, and stand beside the narrow rows that every poll touches.
"""

from tasks_monitor.models.history import (
    ChartDay,
    Expectation,
    HistoryEntry,
    Tally,
    TallyMark,
)
from tasks_monitor.models.operations import (
    API_KEY,
    Attempt,
    AttemptOutcome,
    Operation,
    Payload,
    hash_task_id,
)
from tasks_monitor.models.questions import (
    Delivery,
    DeliveryState,
    InputRequest,
    InputRequestSource,
    InputRequestState,
)
from tasks_monitor.models.repairs import Repair, RepairState
from tasks_monitor.models.servers import Answerers, AuthKind, Era, Server, Tool
from tasks_monitor.models.watching import Heartbeat, Hold

__all__ = [
    "API_KEY",
    "Answerers",
    "Attempt",
    "AttemptOutcome",
    "AuthKind",
    "ChartDay",
    "Delivery",
    "DeliveryState",
    "Era",
    "Expectation",
    "Heartbeat",
    "HistoryEntry",
    "Hold",
    "InputRequest",
    "InputRequestSource",
    "InputRequestState",
    "Operation",
    "Payload",
    "Repair",
    "RepairState",
    "Server",
    "Tally",
    "TallyMark",
    "Tool",
    "hash_task_id",
]
