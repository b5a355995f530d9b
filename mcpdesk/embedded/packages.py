"""Programs that the tests need and no Python package brings; on a CI machine they are installed."""

import os
import shutil
import subprocess
from dataclasses import dataclass

from mcpdesk.embedded.errors import StartError


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and the Debian package that brings it."""

    executable: str
    package: str


PROGRAMS = (Program("chromium", "chromium"), Program("redis-server", "redis-server"))


def missing() -> list[Program]:
    """The programs that are not on the PATH."""
    return [program for program in PROGRAMS if shutil.which(program.executable) is None]


def install(programs: list[Program]) -> None:
    """Install Debian packages. Raises StartError where that is not possible."""
    names = [program.package for program in programs]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StartError(f"The tests need {', '.join(names)}: install what is missing, as root.")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "--yes", "--no-install-recommends", *names],
    ):
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment
        )
        if result.returncode != 0:
            raise StartError(f"`{' '.join(command)}` failed:\n{result.stdout}{result.stderr}")
