"""The process's one event loop for HTTP: work goes in as values, results come out of a queue.

The database stays in the thread that drains; the loop never waits for it, and connections to
servers stay open between drains.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from uuid import UUID

from mcpdesk.mcp.reader import ResultReply
from tasks_monitor.engine.work import Broke, Done, Left, Work
from tasks_monitor.session import Session, Step
from tasks_monitor.transport import Endpoint, Transport

Result = Done | Broke | Left
Lane = deque[tuple[Work, Endpoint]]

MOMENT_S = 0.004
#: How long (s) works wait in a lane for those before them; then they are given back.
LANE_S = 0.5


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
        """Start these exchanges; each puts one result into the queue, whatever happens.

        Works of one lease token are a lane: one after the other.
        """
        lanes: dict[UUID, Lane] = {}
        for work, endpoint in works:
            lanes.setdefault(work.claim.lease_token, deque()).append((work, endpoint))
            self.in_flight += 1
        self._loop.call_soon_threadsafe(self._start, lanes.values())

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
        if not self._thread.is_alive():
            self._loop.close()

    def _start(self, lanes: Iterable[Lane]) -> None:
        for lane in lanes:
            task = self._loop.create_task(self._run(lane))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, lane: Lane) -> None:
        """One exchange after the other, as long as the server answers and soon enough."""
        too_long = self._loop.call_later(LANE_S, self._give_back, lane)
        try:
            while lane:
                if not await self._exchange(*lane.popleft()):
                    break
        finally:
            too_long.cancel()
            self._give_back(lane)

    def _give_back(self, lane: Lane) -> None:
        while lane:
            self._results.put(Left(lane.popleft()[0]))

    async def _exchange(self, work: Work, endpoint: Endpoint) -> bool:
        """Make one exchange; whether the server may be asked for the next thing right away."""
        try:
            step = await work.exchange(self._session(endpoint))
        except BaseException as error:
            self._results.put(Broke(work, error))
            if not isinstance(error, Exception):
                raise
            return False
        self._results.put(Done(work, step))
        return _goes_well(step)

    def _session(self, endpoint: Endpoint) -> Session:
        """One session per endpoint and identity: it remembers the version agreed on."""
        session = self._sessions.get(endpoint)
        if session is None:
            if len(self._sessions) > 256:
                self._sessions.clear()
            session = self._sessions[endpoint] = Session(self._transport, endpoint)
        return session


def _goes_well(step: Step[object]) -> bool:
    """A server that is in trouble, or asks for a pause, is sent nothing more on this lane."""
    return isinstance(step.exchange.reply, ResultReply)


@lru_cache(maxsize=1)
def network() -> Network:
    """This process's network thread, started when first needed."""
    return Network()


def close_network() -> None:
    """Close this process's network, if it was started; a later network() starts another."""
    if network.cache_info().currsize:
        network().close()
        network.cache_clear()
