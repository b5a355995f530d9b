import errno
import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import data_dir
from mcpdesk.embedded.startup import Startup


class Command(BaseCommand):
    help = "Starts the whole desk: database, web, worker and clock. Ctrl-C stops it."
    # they need the keys that the first start generates, so the start runs them itself
    requires_system_checks = []
    startup: type[Startup] = Startup

    def handle(self, *args: Any, **options: Any) -> None:
        if "MCPDESK_DATA" not in os.environ:
            raise CommandError("Start it as `./desk up`, or name a data folder with MCPDESK_DATA.")
        try:
            self.startup(data_dir()).run()
        except StartError as error:
            self._give_up(str(error))
        except OSError as error:
            self._give_up(_explain(error))

    def _give_up(self, sentence: str) -> None:
        print(f"desk: {sentence}", file=sys.stderr, flush=True)
        sys.exit(1)


def _explain(error: OSError) -> str:
    place = error.filename or data_dir()
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{place}: the disk is full. Free some space and start again."
    return f"{place}: {error.strerror or error}."
