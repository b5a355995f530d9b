"""Writes both lock files from pyproject.toml: every package, its version and its hashes."""

import subprocess
import sys
import tempfile
from pathlib import Path

from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import CHECKOUT

RUNTIME = "requirements.lock"
DEVELOPMENT = "requirements-dev.lock"

# One file for every platform and every Python from the oldest supported one on.
_COMPILE = (
    *("pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-annotate", "--no-header", "--no-strip-extras", "--quiet"),
)


def lock(upgrade: bool) -> None:
    """Resolve again, keeping the locked versions unless they are to be upgraded.

    The resolver is uv, installed for this one run. Raises StartError with its words.
    """
    newer = ("--upgrade",) if upgrade else ()
    with tempfile.TemporaryDirectory(prefix="mcpdesk-lock-") as folder:
        python = Path(folder) / "bin" / "python"
        _run(sys.executable, "-m", "venv", folder)
        _run(str(python), "-m", "pip", "install", "--quiet", "uv")
        uv = (str(python), "-m", "uv", *_COMPILE, *newer)
        _run(*uv, "--output-file", RUNTIME)
        # the same version of everything that both hold, so that one environment serves both
        _run(*uv, "--group", "dev", "--constraint", RUNTIME, "--output-file", DEVELOPMENT)


def _run(*command: str) -> None:
    result = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    if result.returncode != 0:
        raise StartError(f"`{' '.join(command[:4])} ...` failed:\n{result.stdout}{result.stderr}")
