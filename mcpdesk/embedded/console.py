"""What the person at the terminal reads while things start."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def say(line: str) -> None:
    """One line for the person at the terminal."""
    print(line, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """A line that says what is being done and, once it is, how long (s) it took."""
    print(f"{title} ...", end="", flush=True)
    started = time.monotonic()
    try:
        yield
    except BaseException:
        print(flush=True)
        raise
    print(f" {time.monotonic() - started:.1f} s", flush=True)


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether somebody wants to know what a command takes: nothing is started for that."""
    return not {"-h", "--help"}.isdisjoint(arguments)
