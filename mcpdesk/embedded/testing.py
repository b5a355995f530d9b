"""`./desk test`: a throw-away PostgreSQL and Redis, the checks of the code, then the tests.

It needs no Django, so that an application that does not even import is still reported by name.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from xml.etree import ElementTree

from mcpdesk.embedded import packages, throwaway
from mcpdesk.embedded.console import asks_for_help, say, step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import CHECKOUT
from mcpdesk.embedded.signals import Signals
from mcpdesk.embedded.throwaway import TESTS

HELP = """usage: ./desk test [PATH ...] [-k WORD] [any other option of pytest]

Without arguments every check of the code (ruff, mypy, import contracts, settings, migrations), then
every test. With arguments pytest alone with them, on a PostgreSQL and a Redis that go with it. What
pytest takes says: .venv/bin/python -m pytest --help"""

JUNIT = CHECKOUT / "artifacts" / "junit.xml"

_PYTHON = sys.executable
_MANAGE = str(CHECKOUT / "manage.py")
_LINT_IMPORTS = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"

CHECKS: dict[str, tuple[str, ...]] = {
    "ruff check": (_PYTHON, "-m", "ruff", "check", "."),
    "ruff format": (_PYTHON, "-m", "ruff", "format", "--check", "."),
    "mypy": (_PYTHON, "-m", "mypy"),
    "import contracts": (_PYTHON, "-c", _LINT_IMPORTS),
    "settings": (_PYTHON, _MANAGE, "check", "--fail-level", "WARNING"),
    "migrations": (_PYTHON, _MANAGE, "makemigrations", "--check", "--dry-run"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check: whether it passed, how long it took (s), and what it said."""

    name: str
    passed: bool
    seconds: float
    output: str


def run(arguments: Sequence[str]) -> int:
    """Everything, or pytest alone with these arguments; returns the exit status.

    Raises StartError where something that the tests need is missing.
    """
    in_ci = os.environ.get("CI", "").lower() in {"1", "true"}
    if in_ci and (missing := packages.missing()):
        with step(f"Installing {', '.join(program.package for program in missing)}"):
            packages.install(missing)
    with Signals() as signals, throwaway.services(signals, TESTS) as environment:
        if arguments:
            return _pytest(arguments, environment)
        return _everything(environment, in_ci)


def _everything(environment: dict[str, str], in_ci: bool) -> int:
    outcomes = _checks(environment)
    JUNIT.parent.mkdir(exist_ok=True)
    JUNIT.unlink(missing_ok=True)
    status = _pytest(["--junitxml", str(JUNIT)], environment)
    passed, failed, skipped = counts()
    problems = [outcome.name for outcome in outcomes if not outcome.passed]
    if skipped and in_ci:
        problems.append(f"{skipped} tests were skipped, and nothing may be skipped here")
    if status != 0 and not failed:
        problems.append(f"pytest ended with status {status}")
    for problem in problems:
        say(f"FAILED: {problem}")
    say(f"{passed + len(outcomes) - len(problems)} passed, {failed + len(problems)} failed")
    return 1 if problems or status else 0


def _checks(environment: dict[str, str]) -> list[Outcome]:
    """Run the checks of the code, two at a time; what fails is printed whole."""
    outcomes = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for outcome in pool.map(partial(_check, environment=environment), CHECKS.items()):
            verdict = "passed" if outcome.passed else "FAILED"
            say(f"{outcome.name:<18} {verdict} ({outcome.seconds:.1f} s)")
            if not outcome.passed:
                say(outcome.output)
            outcomes.append(outcome)
    return outcomes


def _check(named: tuple[str, tuple[str, ...]], environment: dict[str, str]) -> Outcome:
    name, command = named
    started = time.monotonic()
    result = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - started
    return Outcome(name, result.returncode == 0, seconds, result.stdout + result.stderr)


def _pytest(arguments: Sequence[str], environment: dict[str, str]) -> int:
    command = [_PYTHON, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode


def counts() -> tuple[int, int, int]:
    """Tests passed, failed and skipped, from the report that pytest wrote; zeros without one."""
    if not JUNIT.exists():
        return 0, 0, 0
    suites = ElementTree.parse(JUNIT).getroot().iter("testsuite")  # noqa: S314 - we wrote it
    passed = failed = skipped = 0
    for suite in suites:
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        passed += int(suite.get("tests", 0)) - bad - int(suite.get("skipped", 0))
        failed += bad
        skipped += int(suite.get("skipped", 0))
    return passed, failed, skipped


def main(arguments: Sequence[str]) -> int:
    """Run, and say in a sentence what is missing; returns the exit status."""
    if asks_for_help(arguments):
        say(HELP)
        return 0
    try:
        return run(arguments)
    except StartError as error:
        print(f"desk: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
