"""Starts the processes of a desk, watches them, starts those again that die, stops all in order."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mcpdesk.embedded.backoff import Backoff
from mcpdesk.embedded.caretaker import Caretaker
from mcpdesk.embedded.child import Child, bound_log, tail
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.record import Record
from mcpdesk.embedded.signals import Signals

# How long a process may take until it answers (s)
START_S = 60.0


class StopRequested(Exception):
    """Somebody asked the desk to stop."""


@dataclass(slots=True)
class Service:
    """One process of the desk over all its lives."""

    name: str
    start: Callable[[], Child]
    child: Child
    started_at: float
    backoff: Backoff = field(default_factory=Backoff)
    # when it is started again (monotonic s); None while it runs
    due_at: float | None = None


class Supervisor:
    """Owns every process that the desk starts. One per data folder; the caller holds its lock."""

    def __init__(self, data: Path, lock: int, signals: Signals, say: Callable[[str], None]) -> None:
        self._data = data
        self._lock = lock
        self._signals = signals
        self._say = say
        self._services: list[Service] = []
        self._record = Record(data)
        self._caretaker = Caretaker(data, lock)

    def start(self, name: str, start: Callable[[], Child]) -> Child:
        """Start a process, and look after it from now on. Raises StartError and OSError."""
        child = start()
        self._services.append(Service(name, start, child, time.monotonic()))
        self._remember()
        return child

    def wait_until(self, child: Child, ready: Callable[[], bool]) -> None:
        """Wait for a process that has just been started to be of use.

        Raises StartError where it ends or takes too long, StopRequested.
        """
        deadline = time.monotonic() + START_S
        while not ready():
            if (status := child.ended()) is not None:
                raise StartError(f"{child.name} {_ending(status)} while it started.{_words(child)}")
            if time.monotonic() > deadline:
                raise StartError(
                    f"{child.name} did not answer within {START_S:.0f} s.{_words(child)}"
                )
            self.pause(0.05)

    def pause(self, seconds: float) -> None:
        """Wait this long, or until something happens. Raises StopRequested."""
        self._signals.wait(seconds)
        if self._signals.stops:
            raise StopRequested

    def watch(self) -> None:
        """Look after everything until somebody asks to stop (StopRequested).

        Raises StartError where a process cannot be kept alive.
        """
        while True:
            for service in self._services:
                self._look_after(service)
            if self._caretaker.ended():
                self._caretaker = Caretaker(self._data, self._lock)
            self.pause(self._next_look_s())

    def stop(self) -> None:
        """Stop everything, the first process last; a second request to stop kills at once."""
        patience = self._signals.stops
        children = [service.child for service in self._services if service.due_at is None]
        for group in (children[1:], children[:1]):
            self._stop_group(group, patience)
        self._services.clear()
        self._remember()
        self._caretaker.dismiss()

    def _stop_group(self, children: list[Child], stops_before: int) -> None:
        for child in children:
            child.ask_to_stop()
        started = time.monotonic()
        while left := [child for child in children if child.ended() is None]:
            waited = time.monotonic() - started
            if self._signals.stops > stops_before or waited > max(_patience(left)):
                break
            self._signals.wait(0.1)
        # what a process left behind in its group goes with it
        for child in children:
            child.kill()

    def _look_after(self, service: Service) -> None:
        now = time.monotonic()
        if service.due_at is not None:
            if now >= service.due_at:
                self._start_again(service)
            return
        status = service.child.ended()
        if status is None:
            bound_log(service.child.log)
            return
        service.child.kill()
        words = _words(service.child)
        delay = service.backoff.delay_s(now - service.started_at)
        if delay is None:
            raise StartError(f"{service.name} dies again and again: it {_ending(status)}.{words}")
        self._say(f"{service.name} {_ending(status)}; starting it again in {delay:g} s.{words}")
        service.due_at = now + delay

    def _start_again(self, service: Service) -> None:
        service.child = service.start()
        service.started_at = time.monotonic()
        service.due_at = None
        self._remember()
        self._say(f"{service.name} is started again.")

    def _next_look_s(self) -> float:
        due = [service.due_at for service in self._services if service.due_at is not None]
        return max(0.0, min([1.0, *(at - time.monotonic() for at in due)]))

    def _remember(self) -> None:
        self._record.write(s.child for s in self._services if s.due_at is None)


def _patience(children: Iterable[Child]) -> list[float]:
    return [child.command.patience_s for child in children]


def _ending(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with exit status {status}"


def _words(child: Child) -> str:
    """The end of its log, set off, and where the rest is."""
    lines = "\n".join(f"    {line}" for line in tail(child.log).splitlines())
    return (
        f"\n{lines}\n  All of its log: {child.log}" if lines else f" Its log is empty: {child.log}"
    )
