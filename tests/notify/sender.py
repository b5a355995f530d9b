"""A worker process of the tests: `python -m tests.notify.sender TIME` sends what is due then."""

import sys
from datetime import datetime

import django

django.setup()

from mcpdesk.notify.deliver import deliver  # noqa: E402

if __name__ == "__main__":
    moment = datetime.fromisoformat(sys.argv[1])
    deliver(lambda: moment)
