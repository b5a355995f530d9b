"""`python -m benchmarks NAME [options]`, on the database that DATABASE_URL names."""

import argparse
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import django


def main() -> int:
    """Run one benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(prog="./desk bench", description="Benchmarks of the desk.")
    names = parser.add_subparsers(dest="name", required=True)
    polling = names.add_parser("polling", help="what a persisted poll costs")
    polling.add_argument("--tasks", type=int, default=1000, help="working tasks (%(default)s)")
    polling.add_argument(
        "--interval", type=int, default=1000, metavar="MS", help="pollIntervalMs (%(default)s)"
    )
    polling.add_argument("--seconds", type=float, default=15.0, help="how long (%(default)s)")
    polling.add_argument("--json", action="store_true", help="print one JSON object")
    inbox = names.add_parser("inbox", help="what the inbox costs with many open items")
    inbox.add_argument("--items", type=int, default=500, help="open items (%(default)s)")
    inbox.add_argument("--json", action="store_true", help="print one JSON array")
    history = names.add_parser("history", help="what a history of years costs")
    history.add_argument("--operations", type=int, default=1_000_000, help="(%(default)s)")
    history.add_argument("--events", type=int, default=10_000_000, help="(%(default)s)")
    history.add_argument("--asked", type=int, default=40, help="requests a page (%(default)s)")
    history.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mcpdesk.settings")
    if options.name == "inbox":
        return _inbox(options)
    if options.name == "history":
        return _history(options)
    if options.tasks < 1 or options.interval < 1 or options.seconds <= 0:
        parser.error("--tasks, --interval and --seconds must be positive")
    return _polling(options)


def _inbox(options: argparse.Namespace) -> int:
    django.setup()
    from benchmarks import inbox

    print(inbox.report(inbox.run(options.items), options.json), flush=True)
    return 0


def _history(options: argparse.Namespace) -> int:
    django.setup()
    from benchmarks import history

    found = history.run(options.operations, options.events, options.asked)
    print(history.report(found, options.json), flush=True)
    return 0


def _polling(options: argparse.Namespace) -> int:
    # the simulator is on this machine
    os.environ["MCPDESK_ALLOW_PRIVATE_SERVERS"] = "true"
    django.setup()
    from benchmarks import polling

    with _simulator() as url:
        try:
            figures = polling.run(url, options.tasks, options.interval, options.seconds)
        except polling.NothingMeasured as error:
            sys.exit(str(error))
    print(polling.report(figures, options.json), flush=True)
    return 0


@contextmanager
def _simulator() -> Iterator[str]:
    """A simulator in a process of its own, so that its CPU time does not count."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mcpdesk.simulator", "--port", str(port)]
    process = subprocess.Popen(command)
    try:
        _wait_for(f"http://127.0.0.1:{port}/healthz", process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("The simulator did not start; try `./desk simulator --port 8650`.")
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
