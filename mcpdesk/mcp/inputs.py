"""Input requests: what a server wants to know before it goes on (MRTR and tasks alike)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InputRequest:
    """One entry of `inputRequests`.

    `fingerprint` is the hex SHA-256 of the canonical JSON of method and params. `problem` says in
    a sentence why the question cannot be put to a person (not declared, too big, malformed);
    the entry is kept all the same. Where params are too big, `params` is empty.
    """

    key: str
    method: str
    params: dict[str, Any]
    fingerprint: str
    problem: str | None = None
