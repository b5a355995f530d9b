import subprocess
import sys
from typing import Any

from django.core.management.base import BaseCommand

from mcpdesk.embedded import throwaway
from mcpdesk.embedded.console import asks_for_help
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import CHECKOUT
from mcpdesk.embedded.signals import Signals


class Command(BaseCommand):
    help = "Runs a benchmark on a database of its own: ./desk bench NAME [options]"
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Hand all arguments to the benchmark, whose options are not Django's."""
        arguments = argv[2:]
        if not arguments or asks_for_help(arguments):
            sys.exit(_benchmark(arguments))
        refused = _look_at(arguments)
        if refused:
            sys.exit(refused)
        try:
            with Signals() as signals, throwaway.services(signals, throwaway.BENCHMARKS) as found:
                sys.exit(_run(found, arguments))
        except StartError as error:
            print(f"desk: {error}", file=sys.stderr)
            sys.exit(1)

    def handle(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError("started from the command line only")


def _run(environment: dict[str, str], arguments: list[str]) -> int:
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=CHECKOUT, env=environment, check=True)
    return _benchmark(arguments, environment)


def _look_at(arguments: list[str]) -> int:
    """The exit status for a name that is none; the benchmark says so. Nothing is started."""
    command = [sys.executable, "-m", "benchmarks", *arguments, "--help"]
    return subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL).returncode


def _benchmark(arguments: list[str], environment: dict[str, str] | None = None) -> int:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, env=environment).returncode
