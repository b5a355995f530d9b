"""Whom PostgreSQL runs as: it refuses to be root, so that root has to lend it another account."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpdesk.embedded.errors import StartError

# Accounts that exist and own nothing else of worth; none is ever created.
_ACCOUNTS = ("postgres", "nobody")

# Lets another account through folders that only root may enter (a clone in /root, say):
# dac_read_search is enough, containers usually grant only dac_override. PostgreSQL asks access(2)
# about its own files, which ignores capabilities unless the securebit is set.
_CAPABILITIES = ("dac_read_search", "dac_override")


@dataclass(frozen=True, slots=True)
class Identity:
    """How a command is started as the account that owns PostgreSQL's files."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    def own(self, folder: Path) -> None:
        """Make a folder for this account alone; it may exist.

        Raises StartError where it belongs to somebody else, and OSError.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(folder, self.uid, self.gid)
        owner = folder.stat().st_uid
        if owner != self.uid:
            raise StartError(
                f"{folder} belongs to {_name(owner)}: start the desk as that user, or name another "
                "data folder with MCPDESK_DATA."
            )
        folder.chmod(0o700)

    def arguments(self) -> dict[str, Any]:
        """What subprocess needs in order to become this account."""
        if self.prefix or os.geteuid() == self.uid:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def reaches(self, program: Path, folder: Path) -> bool:
        """Whether this account can run the program inside the folder."""
        script = 'cd "$1" && exec "$2" --version'
        result = subprocess.run(
            [*self.prefix, "/bin/sh", "-c", script, "sh", str(folder), str(program)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.arguments(),
        )
        return result.returncode == 0


def identity_for(folder: Path, program: Path) -> Identity:
    """The account for PostgreSQL's folder, which is made here when it is missing.

    Raises StartError where no account can reach both the folder and the program.
    """
    account = _account(folder)
    account.own(folder)
    for candidate in (account, *_through_closed_folders(account)):
        if candidate.reaches(program, folder):
            return candidate
    raise StartError(
        f"PostgreSQL cannot run as {_name(account.uid)} in {folder}: a folder on the way, or the "
        f"one of {program}, is closed to that account. Start the desk as another user than root, "
        "or put it and MCPDESK_DATA where others may enter (/opt, /srv)."
    )


def _account(folder: Path) -> Identity:
    if os.geteuid() != 0:
        return Identity(os.geteuid(), os.getegid())
    if folder.exists() and (owner := folder.stat()).st_uid != 0:
        return Identity(owner.st_uid, owner.st_gid)
    for name in _ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Identity(entry.pw_uid, entry.pw_gid)
    raise StartError("PostgreSQL refuses to run as root, and there is no account `nobody` here.")


def _through_closed_folders(account: Identity) -> list[Identity]:
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return []
    become = (setpriv, f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups")
    return [
        Identity(
            account.uid,
            account.gid,
            (
                *become,
                f"--inh-caps=+{capability}",
                f"--ambient-caps=+{capability}",
                "--securebits=+no_setuid_fixup",
                "--",
            ),
        )
        for capability in _CAPABILITIES
    ]


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
