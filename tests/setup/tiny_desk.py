"""A desk of two stand-in processes under the real supervisor, for tests that kill things.

Usage: python -m tests.setup.tiny_desk DATA FIRST SECOND, each a Python program as text.
"""

import sys
from functools import partial
from pathlib import Path

from mcpdesk.embedded import backoff
from mcpdesk.embedded.child import Child, Command
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.lock import locked
from mcpdesk.embedded.record import Record
from mcpdesk.embedded.signals import Signals
from mcpdesk.embedded.supervisor import StopRequested, Supervisor


def say(line: str) -> None:
    print(line, flush=True)


def run(data: Path, programs: list[str]) -> None:
    with locked(data) as lock, Signals() as signals:
        left = Record(data).stop_all()
        say(f"left behind: {left}")
        supervisor = Supervisor(data, lock, signals, say)
        try:
            for name, program in zip(("first", "second"), programs, strict=True):
                command = Command(name, (sys.executable, "-c", program), patience_s=1.0)
                child = supervisor.start(name, partial(Child, command, data / f"{name}.log"))
                say(f"{name} is {child.pid}")
            say("ready")
            supervisor.watch()
        except StopRequested:
            say("stopping")
        finally:
            supervisor.stop()
    say("stopped")


if __name__ == "__main__":
    # five quick deaths in a row should not take a test eight seconds
    backoff.FIRST_DELAY_S = 0.05
    try:
        run(Path(sys.argv[1]), sys.argv[2:])
    except StartError as error:
        sys.exit(f"desk: {error}")
