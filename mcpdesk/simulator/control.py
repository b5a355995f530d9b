"""Endpoints for tests, beside the protocol: what was asked, what was done, start afresh."""

import json
from collections import Counter
from collections.abc import Callable, Sequence

from mcpdesk.simulator.faults.rules import check_armed
from mcpdesk.simulator.protocol import Json
from mcpdesk.simulator.stores import Store
from mcpdesk.simulator.world import World

Report = tuple[int, Json]


def _stores(worlds: Sequence[World]) -> list[Store]:
    return list({id(world.store): world.store for world in worlds}.values())


def _tally(worlds: Sequence[World], kind: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for store in _stores(worlds):
        total.update(store.tally(kind))
    return dict(total)


def side_effects(worlds: Sequence[World], body: bytes) -> Report:
    """How often work was really done, started, answered and cancelled."""
    for world in worlds:
        world.settle()
    by_tool = _tally(worlds, "effect")
    return 200, {
        "total": sum(by_tool.values()),
        "by_tool": by_tool,
        "by_nonce": _tally(worlds, "effect-nonce"),
        "started_by_nonce": _tally(worlds, "started"),
        "answers": _tally(worlds, "answer"),
        "ignored_answers": _tally(worlds, "ignored"),
        "cancellations": _tally(worlds, "cancel"),
    }


def requests(worlds: Sequence[World], body: bytes) -> Report:
    """What was asked by method, the latest requests, and the most at once."""
    counts: Counter[str] = Counter()
    for world in worlds:
        counts.update(world.journal.counts)
    recent = [entry for world in worlds for entry in world.journal.report(world.instance)]
    return 200, {
        "total": counts.total(),
        "by_method": dict(counts),
        "max_in_flight": max(world.journal.max_in_flight for world in worlds),
        "recent": sorted(recent, key=lambda entry: entry["at"]),
    }


def reset(worlds: Sequence[World], body: bytes) -> Report:
    """Forget tasks, counts, requests and faults."""
    for world in worlds:
        world.reset()
    return 200, {"reset": True}


def faults(worlds: Sequence[World], body: bytes) -> Report:
    """Replace the armed faults by those of the body, a list of rules (see `faults.rules`)."""
    try:
        rules = [check_armed(members) for members in json.loads(body)]
    except ValueError as error:
        return 400, {"error": str(error)}
    for world in worlds:
        world.armed = rules
    return 200, {"armed": len(rules)}


def token(worlds: Sequence[World], body: bytes) -> Report:
    """Demand another bearer token from now on: `{"token": "..."}`, or null for none."""
    for world in worlds:
        world.token = json.loads(body)["token"]
    return 200, {"changed": True}


def health(worlds: Sequence[World], body: bytes) -> Report:
    """Says that the server is up, and which instances it is."""
    return 200, {"status": "ok", "instances": [world.instance for world in worlds]}


CONTROLS: dict[tuple[str, str], Callable[[Sequence[World], bytes], Report]] = {
    ("GET", "/side-effects"): side_effects,
    ("GET", "/requests"): requests,
    ("GET", "/healthz"): health,
    ("POST", "/reset"): reset,
    ("POST", "/faults"): faults,
    ("POST", "/token"): token,
}
