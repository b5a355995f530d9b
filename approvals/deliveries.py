"""How far an answer has got on its way to the server."""

from dataclasses import dataclass
from datetime import datetime

from approvals import selectors
from approvals.models import Approval
from tasks_monitor.models import Delivery, DeliveryState, InputRequest, InputRequestSource


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a delivery; `at` is None while it has not been taken."""

    label: str
    at: datetime | None


def of(request: InputRequest | None) -> Delivery | None:
    """The answer that was given to a question; None: none yet."""
    return getattr(request, "delivery", None) if request else None


def steps(delivery: Delivery | None, request: InputRequest | None) -> list[Step]:
    """The way of an answer to the server; only a task acknowledges before it applies."""
    if delivery is None or request is None:
        return []
    found = [
        Step("Saved", delivery.saved_at),
        Step("Sent", delivery.sent_at),
        Step("Acknowledged", delivery.acknowledged_at),
        Step("Applied", delivery.observed_at),
    ]
    by_task = request.source == InputRequestSource.TASK
    return found if by_task else [step for step in found if step.label != "Acknowledged"]


def waits_for_others(approval: Approval) -> int:
    """How many questions of its round still have no answer, while an answer waits for them."""
    request = approval.input_request
    delivery = of(request)
    if request is None or delivery is None or request.source != InputRequestSource.MRTR:
        return 0
    return selectors.unanswered_beside(request) if delivery.state == DeliveryState.SAVED else 0
