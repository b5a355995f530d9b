"""Endpoints for tests, beside the protocol: what was asked, what was done, start afresh."""

from collections.abc import Callable

from mcpdesk.simulator.protocol import Json
from mcpdesk.simulator.world import World


def side_effects(world: World, body: bytes) -> Json:
    """How often work was really done, started, answered and cancelled."""
    world.settle()
    store = world.store
    by_tool = store.tally("effect")
    return {
        "total": sum(by_tool.values()),
        "by_tool": by_tool,
        "by_nonce": store.tally("effect-nonce"),
        "started_by_nonce": store.tally("started"),
        "answers": store.tally("answer"),
        "ignored_answers": store.tally("ignored"),
        "cancellations": store.tally("cancel"),
    }


def requests(world: World, body: bytes) -> Json:
    """What this instance was asked, the latest requests, and the most at once."""
    return world.journal.report(world.instance)


def reset(world: World, body: bytes) -> Json:
    """Forget tasks, counts and requests."""
    world.store.reset()
    world.journal.reset()
    return {"reset": True}


def health(world: World, body: bytes) -> Json:
    """Says that the server is up, and which one it is."""
    return {"status": "ok", "instance": world.instance}


CONTROLS: dict[tuple[str, str], Callable[[World, bytes], Json]] = {
    ("GET", "/side-effects"): side_effects,
    ("GET", "/requests"): requests,
    ("POST", "/reset"): reset,
    ("GET", "/healthz"): health,
}
