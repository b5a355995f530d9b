"""Input requests: what a server wants to know before it goes on (MRTR and tasks alike)."""

import hashlib
import json
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcpdesk.mcp import elicitation
from mcpdesk.mcp.jsontext import canonical, plain, storable
from mcpdesk.mcp.limits import MAX_INPUT_REQUEST_BYTES, MAX_INPUT_REQUESTS, MAX_KEY_CHARS


@dataclass(frozen=True, slots=True)
class InputRequest:
    """One entry of `inputRequests`.

    `fingerprint` is the hex SHA-256 of the canonical JSON of method and params. `problem` says in
    a sentence why the question cannot be put to a person (not declared, too big, malformed); the
    entry is kept all the same. Where params are too big, `params` is empty; where a key is too
    long or cannot be stored, `key` is a stand-in that begins like it and ends in a hash of it.
    `method` is a name of the protocol, or says that it is none.
    """

    key: str
    method: str
    params: dict[str, Any]
    fingerprint: str
    problem: str | None = None


def read_input_requests(entries: dict[str, Any]) -> tuple[InputRequest, ...]:
    """The entries of an `inputRequests` object, the first 50 of them.

    Where there are more, each of the 50 has that as its problem: a part of a round must not look
    like all of it.
    """
    too_many = _TOO_MANY if len(entries) > MAX_INPUT_REQUESTS else None
    first = islice(entries.items(), MAX_INPUT_REQUESTS)
    return tuple(_read(key, entry, too_many) for key, entry in first)


def _read(key: str, entry: Any, problem: str | None) -> InputRequest:
    shown_key = _fitting_key(key)
    if shown_key != key:
        problem = problem or "The key of the question is too long or cannot be stored."
    if not isinstance(entry, dict) or not isinstance(entry.get("method"), str):
        return InputRequest(shown_key, "", {}, _fingerprint(canonical(entry)), _MALFORMED)
    method, params = entry["method"], entry.get("params", {})
    content = canonical([method, params])
    if _is_too_big(content):
        params, problem = {}, problem or "The question is bigger than 256 KiB."
    elif not isinstance(params, dict):
        params, problem = {}, problem or _MALFORMED
    problem = problem or _why_not_asked(method, params)
    return InputRequest(shown_key, _known(method), params, _fingerprint(content), problem)


def _known(method: str) -> str:
    """The method as it is kept in clear and in the log, where a server's own words do not go."""
    known = method == elicitation.METHOD or method in _NOT_DECLARED
    return method if known else "another method"


def _why_not_asked(method: str, params: dict[str, Any]) -> str | None:
    if method == elicitation.METHOD:
        question = elicitation.read_params(params)
        return question.reason if isinstance(question, elicitation.InvalidElicitation) else None
    wanted = _NOT_DECLARED.get(method, "something it was not told of")
    return f"The server asks for {wanted}. This desk does not offer that."


def _fitting_key(key: str) -> str:
    if len(key) <= MAX_KEY_CHARS and storable(key):
        return key
    return f"{plain(key)[: MAX_KEY_CHARS - 80]}…{_fingerprint(canonical(key))}"


def _is_too_big(content: str) -> bool:
    """By the size in UTF-8: the canonical form spends six characters on one beyond ASCII."""
    if len(content) <= MAX_INPUT_REQUEST_BYTES:
        return False
    utf8 = json.dumps(json.loads(content), ensure_ascii=False, separators=(",", ":"))
    return len(utf8.encode("utf-8", "surrogatepass")) > MAX_INPUT_REQUEST_BYTES


def _fingerprint(content: str) -> str:
    return hashlib.sha256(content.encode("ascii")).hexdigest()


_TOO_MANY = "The server asked more than 50 questions at once."
_MALFORMED = "The question is malformed."
_NOT_DECLARED = {
    "sampling/createMessage": "a model's words (sampling)",
    "roots/list": "folders (roots)",
}
