"""Makes `.venv` from a lock file. Standard library only: it runs before anything is installed.

`desk` calls it as a script, with the name of a lock file, when `.venv` is missing or stale. The
last thing it writes is a copy of the lock file inside `.venv`; a `.venv` without one is unfinished.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

# A lock file, and the lock files whose packages it holds as well.
LOCKS = {
    "requirements.lock": ("requirements.lock",),
    "requirements-dev.lock": ("requirements.lock", "requirements-dev.lock"),
}

# What pip writes, and what that means to somebody who has to do something about it.
ADVICE = (
    ("No space left on device", "the disk is full: free about 1 GB and run the command again"),
    ("Permission denied", "this folder may not be written: check who owns it"),
    ("DO NOT MATCH THE HASHES", "a downloaded package is not the one that was locked"),
    ("requires a different Python", "this Python is too old or too new: set PYTHON to 3.11-3.14"),
    (
        "Temporary failure in name resolution",
        "the package index was not reached: is there a network?",
    ),
    (
        "Failed to establish a new connection",
        "the package index was not reached: is there a network?",
    ),
    ("Max retries exceeded", "the package index was not reached: is there a network?"),
    ("Could not find a version", "a package was not found: is the package index reached?"),
)


class SetUpError(Exception):
    """Why `.venv` could not be made, as a sentence."""


def stamp(environment: Path, lock: str) -> Path:
    """The copy of a lock file that says: all of it is installed here."""
    return environment / f"installed-{lock}"


def is_fresh(checkout: Path, lock: str) -> bool:
    """Whether every package of the lock file, as it is now, is installed in `.venv`."""
    environment = checkout / ".venv"
    try:
        same = stamp(environment, lock).read_bytes() == (checkout / lock).read_bytes()
    except FileNotFoundError:
        return False
    return same and (environment / "bin" / "python").exists()


def make(checkout: Path, lock: str) -> None:
    """Bring `.venv` up to the lock file, alone: a second caller waits, and finds it done.

    Raises SetUpError.
    """
    with _alone(checkout):
        if is_fresh(checkout, lock):
            return
        environment = checkout / ".venv"
        installed = [old for old in LOCKS if stamp(environment, old).exists()]
        for old in installed:
            stamp(environment, old).unlink()
        if not installed or not (environment / "bin" / "python").exists():
            _create(environment)
        _install(environment, checkout / lock)
        for complete in LOCKS[lock]:
            _publish(checkout / complete, stamp(environment, complete))


@contextmanager
def _alone(checkout: Path) -> Iterator[None]:
    """Hold the lock of this checkout: one on the folder itself, which leaves no file behind."""
    descriptor = os.open(checkout, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another desk that is installing packages here ...", flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _create(environment: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"Making .venv with Python {version} ...", flush=True)
    try:
        if environment.is_dir() and not environment.is_symlink():
            shutil.rmtree(environment)
        venv.create(environment, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetUpError(f"{environment} could not be made: {error}") from error


def _install(environment: Path, lock: Path) -> None:
    lines = lock.read_text("utf-8").splitlines()
    count = sum("==" in line and not line.startswith((" ", "#")) for line in lines)
    print(f"Installing {count} packages of {lock.name} into .venv ...", flush=True)
    started = time.monotonic()
    log = environment / "install.log"
    command = [
        *(str(environment / "bin" / "python"), "-I", "-m", "pip", "install"),
        *("--require-hashes", "--no-deps", "--no-compile", "--no-input"),
        *("--progress-bar", "off", "--disable-pip-version-check"),
        *("-r", str(lock)),
    ]
    with log.open("wb") as output:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PIP_USER": "0"},
        )
    if result.returncode != 0:
        raise SetUpError(_explain(log))
    print(f"Installed in {time.monotonic() - started:.0f} s.", flush=True)


def _explain(log: Path) -> str:
    text = log.read_text("utf-8", "replace")
    sentence = next((advice for sign, advice in ADVICE if sign in text), "pip failed")
    tail = "\n".join(f"    {line}" for line in text.splitlines()[-5:])
    return f"{sentence}.\n{tail}\n  All of pip's output: {log}"


def _publish(lock: Path, target: Path) -> None:
    draft = target.with_name(f"{target.name}.new")
    shutil.copyfile(lock, draft)
    draft.replace(target)


def main(lock: str) -> int:
    """Make `.venv` here; 0, or 1 after a sentence on standard error."""
    try:
        make(CHECKOUT, lock)
    except (SetUpError, OSError) as error:
        print(f"desk: packages could not be installed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("desk: stopped; the next run installs from the start.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
