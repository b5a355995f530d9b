"""Drain: claim, commit, exchange, apply and commit, until nothing is due.

One drain runs per process. It keeps as many requests in flight as the servers allow, and applies
whatever has come back in small batches: one bulk update for all polls that changed nothing, one
transaction each for the rest.
"""

import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from mcpdesk.database import reconnect
from mcpdesk.http.client import Failure, FailureKind
from mcpdesk.logs import about
from mcpdesk.mcp import pacing
from mcpdesk.mcp.outcomes import InvalidResult, NoAnswer, TaskCreated
from mcpdesk.mcp.tasks import Task
from tasks_monitor.engine.claim import Claim, ServerFacts, claim, release_unused
from tasks_monitor.engine.health import note_exchanges
from tasks_monitor.engine.network import Network, Result
from tasks_monitor.engine.prepare import prepare
from tasks_monitor.engine.servers import keep_newer_tools
from tasks_monitor.engine.settle_call import settle_call
from tasks_monitor.engine.settle_task import (
    changes_nothing,
    settle_cancel,
    settle_poll,
    settle_unchanged,
    settle_update,
)
from tasks_monitor.engine.work import Broke, Call, Cancel, Done, Left, Poll, Update, Work
from tasks_monitor.session import Step
from tasks_monitor.transport import Exchange

logger = logging.getLogger(__name__)

#: How long (s) a drain waits for a result before it looks for more work.
WAIT_S = 0.1
#: A claim costs about the same for few operations as for many. One that found fewer than this is
#: followed by the next one after GATHER_S, unless somebody rings.
FEW = 32
#: How long a result waits for a database that is away (about a minute in all).
PAUSES_S = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
#: Set when the process is asked to end: nothing new is claimed, what is in flight is applied.
stopping = threading.Event()
_draining = threading.Lock()
#: Somebody wants work looked for at once.
_rung = threading.Event()


def drain(network: Network, clock: Callable[[], datetime], budget_s: float | None = None) -> bool:
    """Work until nothing is due and nothing is in flight, or until the budget (s) is used up.

    What is in flight then stays with the network, for the next drain: one slow call must not keep
    everything else waiting. A process that ends waits for it. Returns False when another drain of
    this process is at work: it was nudged, and finds what is due; where it has made its last claim,
    rung() tells whoever runs it to drain again.
    """
    # before the lock is tried: who holds it looks at this after letting go of it
    _rung.set()
    if not _draining.acquire(blocking=False):
        network.nudge()
        return False
    try:
        _drain(network, clock, clock() + timedelta(seconds=budget_s or settings.ENGINE["DRAIN_S"]))
    finally:
        _draining.release()
    return True


def rung() -> bool:
    """Whether somebody rang since the last claim; a process that ends claims nothing any more."""
    return _rung.is_set() and not stopping.is_set()


def _drain(network: Network, clock: Callable[[], datetime], until: datetime) -> None:
    while True:
        now, begun = clock(), 0
        if not stopping.is_set():
            if now >= until:
                return
            _rung.clear()
            begun = _begin(network, now)
        # an earlier drain may have left exchanges behind
        if not network.in_flight:
            return
        _finish(network, clock, settings.ENGINE["GATHER_S"] if begun < FEW else 0.0)


def _finish(network: Network, clock: Callable[[], datetime], pause_s: float) -> None:
    """Write down what comes back, until it is time for the next claim."""
    until = time.monotonic() + pause_s
    while True:
        settle(network.collect(WAIT_S), clock)
        left_s = until - time.monotonic()
        if left_s <= 0 or _rung.is_set():
            return
        if not network.in_flight:
            _rung.wait(left_s)
            return


def _begin(network: Network, now: datetime) -> int:
    """Claim what is due and start the exchanges, none while the database is away; how many."""
    try:
        works = prepare(claim(now, settings.ENGINE["CLAIMS"] - network.in_flight), now)
    except (OperationalError, InterfaceError) as error:
        # not a reason to leave what is in flight alone
        logger.warning("the database gave no work: %s", type(error).__name__)
        reconnect()
        return 0
    if works:
        network.submit(works)
    return len(works)


def settle(results: list[Result], clock: Callable[[], datetime]) -> None:
    """Write down what came back. A result that cannot be applied never takes others with it.

    Each bears the time at which its turn comes, not that of the first: where the database is away
    every one before it waited its while, and what ended is soon counted (tally.SETTLED).
    """
    unchanged: list[tuple[Poll, datetime]] = []
    exchanges: dict[ServerFacts, list[Exchange]] = defaultdict(list)
    for result in results:
        if isinstance(result, Left):
            continue
        now = clock()
        done = _as_done(result, now)
        exchanges[done.work.claim.server].append(done.step.exchange)
        work, outcome = done.work, done.step.outcome
        if isinstance(work, Poll) and changes_nothing(work, outcome, now):
            unchanged.append((work, _next_poll(work, outcome, now)))
        else:
            _settle_one(done, now)
    left = [result.work.claim for result in results if isinstance(result, Left)]
    now = clock()
    _insist(lambda: _settle_together(unchanged, exchanges, left, now))


def _settle_together(
    unchanged: list[tuple[Poll, datetime]],
    exchanges: dict[ServerFacts, list[Exchange]],
    left: list[Claim],
    now: datetime,
) -> None:
    if unchanged:
        settle_unchanged(unchanged, now)
    for server, seen in exchanges.items():
        _note_health(server, seen, now)
    # last: a server that asked for a pause is on it by now
    if left:
        release_unused(left)


def _note_health(server: ServerFacts, seen: list[Exchange], now: datetime) -> None:
    """A fault in here costs a line on the server's page, and keeps no operation waiting."""
    try:
        note_exchanges(server, seen, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("could not note the health of server %s", server.server_id)


def _next_poll(work: Poll, task: Task, now: datetime) -> datetime:
    jitter = random.random()  # noqa: S311 - spreads polls, guards nothing
    delay = pacing.next_poll_delay_ms(task.poll_interval_ms, work.claim.unchanged_polls + 1, jitter)
    return now + timedelta(milliseconds=delay)


def _settle_one(done: Done, now: datetime) -> None:
    """Apply one result in one transaction; a fault of ours leaves the row to its lease."""
    with about(operation=done.work.claim.operation_id, server=done.work.claim.server.server_id):
        _settle_this(done, now)


def _settle_this(done: Done, now: datetime) -> None:
    outcome, tools = done.step.outcome, done.step.tools
    is_applied = _applied(done.work, done.step, now)
    if not is_applied and isinstance(outcome, TaskCreated):
        # the rest of the answer can be asked for again, the handle cannot
        handle = InvalidResult("The desk could not take it in", outcome.task.task_id, "task")
        _applied(done.work, replace(done.step, outcome=handle), now)
    if tools is not None:
        _guarded(done.work, lambda: keep_newer_tools(done.work.claim.server.server_id, tools, now))


def _applied(work: Work, step: Step[Any], now: datetime) -> bool:
    def write() -> None:
        with transaction.atomic():
            _apply(work, step, now)

    return _guarded(work, write)


def _guarded(work: Work, write: Callable[[], None]) -> bool:
    """Write what came of this work; False when it cannot be written, which is logged."""
    try:
        _insist(write)
    except Exception:
        logger.exception("could not apply a result to operation %s", work.claim.operation_id)
        return False
    return True


def _insist(write: Callable[[], None]) -> None:
    """Write, also where the database is away for a while: what a server said comes only once."""
    for pause_s in PAUSES_S:
        try:
            write()
            return
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database did not take a result: %s", type(error).__name__)
            reconnect()
            time.sleep(pause_s)
    write()


def _apply(work: Work, step: Step[Any], now: datetime) -> None:
    if isinstance(work, Call):
        settle_call(work.attempt_id, step, now)
    elif isinstance(work, Poll):
        settle_poll(work, step, now)
    elif isinstance(work, Update):
        settle_update(work, step, now)
    elif isinstance(work, Cancel):
        settle_cancel(work, step, now)


def _as_done(result: Done | Broke, now: datetime) -> Done:
    """An exchange that raised is one that was sent and never answered."""
    if isinstance(result, Done):
        return result
    logger.error(
        "an exchange of operation %s broke", result.work.claim.operation_id, exc_info=result.error
    )
    sentence = "The desk could not finish this request; see its log."
    failure = Failure(FailureKind.BROKEN, sentence, sent=True)
    exchange = Exchange(None, failure, None, now, None)
    return Done(result.work, Step(NoAnswer(FailureKind.BROKEN, sentence), exchange))
