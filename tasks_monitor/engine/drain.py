"""Drain: claim, commit, exchange, apply and commit, until nothing is due.

One drain runs per process. It keeps as many requests in flight as the servers allow, and applies
whatever has come back in small batches: one bulk update for all polls that changed nothing, one
transaction each for the rest.
"""

import logging
import random
import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from mcpdesk.mcp import pacing
from mcpdesk.mcp.outcomes import NoAnswer
from mcpdesk.mcp.tasks import Task
from tasks_monitor.engine.claim import ServerFacts, claim
from tasks_monitor.engine.endpoints import endpoint_for
from tasks_monitor.engine.health import note_exchanges
from tasks_monitor.engine.network import Network, Result
from tasks_monitor.engine.prepare import prepare
from tasks_monitor.engine.settle_call import settle_call
from tasks_monitor.engine.settle_task import (
    changes_nothing,
    settle_cancel,
    settle_poll,
    settle_unchanged,
    settle_update,
)
from tasks_monitor.engine.work import Call, Cancel, Done, Poll, Update, Work
from tasks_monitor.session import Step
from tasks_monitor.transport import Exchange, Failure, FailureKind

logger = logging.getLogger(__name__)

WAIT_S = 0.25
_draining = threading.Lock()


def drain(network: Network, clock: Callable[[], datetime], budget_s: float | None = None) -> bool:
    """Work until nothing is due and nothing is in flight, or until the budget (s) is used up.

    After that nothing new is claimed, and what is in flight is still applied. Returns False when
    another drain of this process is at work: it was nudged and will find what is due.
    """
    if not _draining.acquire(blocking=False):
        network.nudge()
        return False
    try:
        _drain(network, clock, clock() + timedelta(seconds=budget_s or settings.ENGINE["DRAIN_S"]))
    finally:
        _draining.release()
    return True


def _drain(network: Network, clock: Callable[[], datetime], until: datetime) -> None:
    in_flight = 0
    while True:
        now = clock()
        started = _begin(network, now, settings.ENGINE["CLAIMS"] - in_flight) if now < until else 0
        in_flight += started
        if not in_flight:
            return
        results = network.collect(WAIT_S, in_flight)
        in_flight -= len(results)
        settle(results, clock())


def _begin(network: Network, now: datetime, limit: int) -> int:
    """Claim what is due and start the exchanges; how many were started."""
    works = prepare(claim(now, limit), now)
    if works:
        network.submit([(work, endpoint_for(work)) for work in works])
    return len(works)


def settle(results: list[Result], now: datetime) -> None:
    """Write down what came back. A result that cannot be applied never takes others with it."""
    unchanged: list[tuple[Poll, datetime]] = []
    exchanges: dict[ServerFacts, list[Exchange]] = defaultdict(list)
    for result in results:
        done = _as_done(result, now)
        exchanges[done.work.claim.server].append(done.step.exchange)
        work, outcome = done.work, done.step.outcome
        if isinstance(work, Poll) and changes_nothing(work, outcome, now):
            unchanged.append((work, _next_poll(work, outcome, now)))
        else:
            _settle_one(done, now)
    if unchanged:
        settle_unchanged(unchanged, now)
    for server, seen in exchanges.items():
        note_exchanges(server, seen, now)


def _next_poll(work: Poll, task: Task, now: datetime) -> datetime:
    jitter = random.random()  # noqa: S311 - spreads polls, guards nothing
    delay = pacing.next_poll_delay_ms(task.poll_interval_ms, work.claim.unchanged_polls + 1, jitter)
    return now + timedelta(milliseconds=delay)


def _settle_one(done: Done, now: datetime) -> None:
    """Apply one result in one transaction; a fault of ours leaves the row to its lease."""
    try:
        with transaction.atomic():
            _apply(done.work, done.step, now)
    except Exception:
        logger.exception("could not apply a result to operation %s", done.work.claim.operation_id)


def _apply(work: Work, step: Step[Any], now: datetime) -> None:
    if isinstance(work, Call):
        settle_call(work.attempt_id, step, now)
    elif isinstance(work, Poll):
        settle_poll(work, step, now)
    elif isinstance(work, Update):
        settle_update(work, step, now)
    elif isinstance(work, Cancel):
        settle_cancel(work, step, now)


def _as_done(result: Result, now: datetime) -> Done:
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
