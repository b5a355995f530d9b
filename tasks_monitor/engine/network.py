"""The process's one event loop for HTTP: work goes in as values, results come out of a queue.

The database stays in the thread that drains; the loop never waits for it, and connections to
servers stay open between drains.
"""

import asyncio
import queue
import threading
from collections.abc import Iterable
from functools import lru_cache

from tasks_monitor.engine.work import Broke, Done, Work
from tasks_monitor.session import Session
from tasks_monitor.transport import Endpoint, Transport

Result = Done | Broke

MOMENT_S = 0.004


class Network:
    """Makes exchanges side by side in a thread of its own."""

    def __init__(self) -> None:
        self._results: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._transport = Transport()
        self._sessions: dict[Endpoint, Session] = {}
        # a task that nobody refers to may be collected while it runs
        self._tasks: set[asyncio.Task[None]] = set()
        #: Exchanges that were submitted and not collected yet; only the draining thread changes it.
        self.in_flight = 0
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._thread.start()

    def submit(self, works: Iterable[tuple[Work, Endpoint]]) -> None:
        """Start these exchanges; each puts one result into the queue, whatever happens."""
        started = list(works)
        self.in_flight += len(started)
        self._loop.call_soon_threadsafe(self._start, started)

    def collect(self, wait_s: float) -> list[Result]:
        """The results there are: waits up to `wait_s` seconds for the first one, and a moment more
        for others that are in flight, since what is applied together costs less.
        """
        results: list[Result] = []
        wait = wait_s
        try:
            while len(results) < self.in_flight:
                result = self._results.get(timeout=wait)
                if result is None:
                    break
                results.append(result)
                wait = MOMENT_S
        except queue.Empty:
            pass
        self.in_flight -= len(results)
        return results

    def nudge(self) -> None:
        """Let a waiting collect() return, so that new work is claimed."""
        self._results.put(None)

    def close(self) -> None:
        """Close all connections and end the thread; what is in flight is dropped."""
        asyncio.run_coroutine_threadsafe(self._transport.aclose(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _start(self, works: list[tuple[Work, Endpoint]]) -> None:
        for work, endpoint in works:
            task = self._loop.create_task(self._exchange(work, self._session(endpoint)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _exchange(self, work: Work, session: Session) -> None:
        try:
            self._results.put(Done(work, await work.exchange(session)))
        except BaseException as error:
            self._results.put(Broke(work, error))
            if not isinstance(error, Exception):
                raise

    def _session(self, endpoint: Endpoint) -> Session:
        """One session per endpoint and identity: it remembers the version agreed on."""
        session = self._sessions.get(endpoint)
        if session is None:
            if len(self._sessions) > 256:
                self._sessions.clear()
            session = self._sessions[endpoint] = Session(self._transport, endpoint)
        return session


@lru_cache(maxsize=1)
def network() -> Network:
    """This process's network thread, started when first needed."""
    return Network()
