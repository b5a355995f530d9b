"""Two transactions at the same moment: with the lock one waits for the other, without it both go.

A race that is not seen with the lock off would prove nothing, so each race has both tests.
"""

import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from django.db import connection, transaction
from django.db.models import QuerySet

from mcpdesk.accounts.models import Membership, Role, Team

MEET_S = 0.4


class Meeting:
    """Where two threads wait for each other, for a moment: who is locked out cannot come."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2)

    def wait(self) -> None:
        try:
            self._barrier.wait(MEET_S)
        except threading.BrokenBarrierError:
            return


@contextmanager
def meeting_after(*targets: str) -> Iterator[None]:
    """Both threads meet right after one of these functions (such as a lock) returned in each."""
    meeting = Meeting()
    with ExitStack() as stack:
        for target in targets:
            original = pkgutil.resolve_name(target)
            stack.enter_context(mock.patch(target, _then(original, meeting.wait)))
        yield


def _then(function: Callable[..., Any], after: Callable[[], None]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        after()
        return result

    return wrapped


@contextmanager
def locks_off() -> Iterator[None]:
    """SELECT ... FOR UPDATE without FOR UPDATE."""
    with mock.patch.object(QuerySet, "select_for_update", lambda self, *_, **__: self):
        yield


def side_by_side(*verbs: Callable[[], Any]) -> list[Any]:
    """What each of them returned or raised, run at once in threads of their own."""
    results: list[Any] = [None] * len(verbs)

    def run(at: int) -> None:
        try:
            results[at] = verbs[at]()
        except Exception as error:
            results[at] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(verbs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return results


def while_demoted(membership: Membership, verb: Callable[[], Any], lock: Any = None) -> Any:
    """What a member's verb comes to that begins while somebody takes the role from them.

    `lock` is called by that transaction first of all; None: it locks the team.
    """
    demoted, over = threading.Event(), threading.Event()

    def demote() -> None:
        with transaction.atomic():
            if lock is None:
                Team.objects.select_for_update(no_key=True).get(pk=membership.team_id)
            else:
                lock()
            Membership.objects.filter(pk=membership.pk).update(role=Role.VIEWER)
            demoted.set()
            # with the lock, the verb waits for us: nobody says that it is over
            over.wait(MEET_S)

    def act() -> Any:
        demoted.wait(10)
        try:
            return verb()
        finally:
            over.set()

    return side_by_side(demote, act)[1]
