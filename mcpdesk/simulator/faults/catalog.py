"""All faults by name."""

from dataclasses import dataclass

from mcpdesk.simulator.faults.lists import LISTS
from mcpdesk.simulator.faults.moment import Moment
from mcpdesk.simulator.faults.shapes import REFUSALS, SHAPES, Shape, error, wide_characters
from mcpdesk.simulator.faults.wire import BEFORE_WORK, WIRES, Wire
from mcpdesk.simulator.protocol import INTERNAL_ERROR, Json

PLAIN = Wire()


def _as_it_is(message: Json, moment: Moment) -> Json:
    return message


@dataclass(frozen=True, slots=True)
class Fault:
    """How a response is spoiled: its message, its bytes, or both.

    `before_work`: the request is refused before anything is done; otherwise the work was done and
    only the answer is spoiled.
    """

    name: str
    shape: Shape = _as_it_is
    wire: Wire = PLAIN
    before_work: bool = False


def _fault_errors() -> dict[str, Fault]:
    """JSON-RPC errors under HTTP statuses that say less than the error does."""
    shape = error(INTERNAL_ERROR, "The reason is in the body", {"retry": False})
    return {
        f"error-in-{status}": Fault(f"error-in-{status}", shape, Wire(status), before_work=True)
        for status in (200, 400, 404, 409, 500, 503)
    }


FAULTS: dict[str, Fault] = {
    **{
        name: Fault(name, wire=wire, before_work=name in BEFORE_WORK)
        for name, wire in WIRES.items()
    },
    **{name: Fault(name, shape) for name, shape in (SHAPES | LISTS).items()},
    **{name: Fault(name, shape, before_work=True) for name, shape in REFUSALS.items()},
    **{name: Fault(name, wide_characters, WIRES[name]) for name in ("sse-split", "json-split")},
    **_fault_errors(),
}
