"""A worker process of the tests: `python -m tests.engine.worker` works until it is told to stop.

It runs the product's own drain and sweep in real time, beside as many others as one likes.
"""

import sys
import threading

import django

django.setup()

from django.utils import timezone  # noqa: E402

from tasks_monitor.engine.drain import drain  # noqa: E402
from tasks_monitor.engine.network import Network  # noqa: E402
from tasks_monitor.engine.sweep import sweep  # noqa: E402

PAUSE_S = 0.02


def main() -> None:
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    network = Network()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not stop.wait(PAUSE_S):
        sweep(timezone.now())
        drain(network, timezone.now, 1.0)
    network.close()


if __name__ == "__main__":
    main()
