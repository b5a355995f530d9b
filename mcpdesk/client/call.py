"""`./desk call SERVER TOOL`: start a tool on a desk, from a shell or a CI job, and wait for it.

Progress and links go to stderr, the result to stdout. Killed and run again with the same key it is
the same operation.
"""

import argparse
import json
import os
import sys
import uuid
from collections.abc import Sequence
from enum import IntEnum
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from mcpdesk.client.desk import Desk
from mcpdesk.client.errors import ApiError, Unreachable
from mcpdesk.client.models import Operation

#: Where a desk listens that nobody told otherwise (MCPDESK_BIND).
_HERE = "http://127.0.0.1:8642"
#: Never an option: everybody on the machine sees those, and shells and logs keep them.
_WITHOUT = "Put a token into MCPDESK_TOKEN in the environment."


class Exit(IntEnum):
    """The exit status by outcome (docs/api.md has the table)."""

    DONE = 0
    USAGE = 2
    TOOL_ERROR = 10
    FAILED = 11
    CANCELLED = 12
    DENIED = 13
    EXPIRED = 14
    NEEDS_OPERATOR = 20
    REFUSED = 30
    UNREACHABLE = 31
    TIMEOUT = 32
    INTERRUPTED = 130


_BY_OUTCOME = {
    "succeeded": Exit.DONE,
    "tool_error": Exit.TOOL_ERROR,
    "failed": Exit.FAILED,
    "cancelled": Exit.CANCELLED,
    "denied": Exit.DENIED,
    "expired": Exit.EXPIRED,
}


def main(given: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(given)
    token = os.environ.get("MCPDESK_TOKEN", "")
    if not token:
        parser.error(_WITHOUT)
    try:
        arguments = _arguments(options.json, options.arg)
        in_clear = _is_in_clear(options.url)
    except ValueError as error:
        parser.error(str(error))
    if in_clear:
        _tell("Warning: over http:// the token goes through the network in clear. Use https://.")
    try:
        with Desk(options.url, token, patience_s=options.patience) as desk:
            return _call(desk, options, arguments)
    except ApiError as refusal:
        return _say(Exit.REFUSED, str(refusal))
    except Unreachable as away:
        return _say(Exit.UNREACHABLE, str(away))
    except TimeoutError as late:
        return _say(Exit.TIMEOUT, f"Still not done: {late}. The same key finds it again.")
    except KeyboardInterrupt:
        return _say(Exit.INTERRUPTED, "Interrupted. It goes on; the same key finds it again.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="desk call", description="Start a tool on a desk.")
    parser.add_argument("server")
    parser.add_argument("tool")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="one argument; NAME:=JSON for anything but text",
    )
    parser.add_argument("--json", default="{}", help="all arguments, as a JSON object")
    parser.add_argument("--key", help="what makes it one operation, however often this is run")
    parser.add_argument("--reason", default="", help="why; whoever answers its questions reads it")
    parser.add_argument("--wait", action="store_true", help="until it has ended")
    parser.add_argument("--timeout", type=float, metavar="S", help="wait at most so long")
    parser.add_argument(
        "--patience", type=float, default=60, metavar="S", help="for a desk that is away"
    )
    parser.add_argument("--url", default=os.environ.get("MCPDESK_URL") or _HERE)
    return parser


def _is_in_clear(url: str) -> bool:
    """Whether what is sent can be read on the way. Raises ValueError with a sentence."""
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError("--url is no address of a desk: it begins with https://")
    return address.scheme == "http" and not _is_here(address.hostname)


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _arguments(whole: str, single: Sequence[str]) -> dict[str, Any]:
    """The arguments of the call. Raises ValueError with a sentence."""
    try:
        arguments = json.loads(whole)
    except ValueError:
        raise ValueError("--json is no JSON") from None
    if not isinstance(arguments, dict):
        raise ValueError("--json must be an object")
    return {**arguments, **dict(map(_argument, single))}


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.rstrip(":"):
        raise ValueError("--arg takes NAME=TEXT or NAME:=JSON")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value)
    except ValueError:
        raise ValueError(f"--arg {name}= is no JSON") from None


def _call(desk: Desk, options: argparse.Namespace, arguments: dict[str, Any]) -> int:
    key = options.key or str(uuid.uuid4())
    if not options.key:
        _tell(f"key {key}")
    operation = desk.start(options.server, options.tool, arguments, key=key, reason=options.reason)
    progress = _Progress()
    progress.show(operation)
    if not options.wait:
        _print({"id": operation.id, "state": operation.state, "page": operation.page})
        return Exit.DONE
    operation = desk.wait(operation.id, timeout_s=options.timeout, told=progress.show)
    return _ended(operation)


class _Progress:
    """Says each thing once: the operation's page, what it waits for, the state."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def show(self, operation: Operation) -> None:
        self._once(f"{operation.server} {operation.tool}: {operation.page}")
        # an item closes a moment after its operation has moved on
        waiting = operation.waiting if operation.needs == "people" else []
        for item in waiting:
            self._once(f"{operation.words}: {item.page}")
        if not waiting:
            self._once(operation.words)
        if operation.message:
            self._once(f"the server says: {' '.join(operation.message.splitlines())}")

    def _once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            _tell(sentence)


def _ended(operation: Operation) -> int:
    if operation.outcome is None:
        return _say(Exit.NEEDS_OPERATOR, f"{operation.explanation} {operation.page}")
    if operation.payload_visible:
        shown = operation.result if operation.error is None else operation.error
        if shown is not None:
            _print(shown)
    else:
        _tell("the result is not for this token to see")
    if operation.outcome != "succeeded":
        _tell(operation.explanation)
    return _BY_OUTCOME[operation.outcome]


def _say(status: Exit, sentence: str) -> int:
    _tell(sentence)
    return status


def _print(value: Any) -> None:
    """JSON in one line, in which whatever does not show on a terminal is written out (RFC 8259)."""
    text = json.dumps(value, ensure_ascii=False)
    shown = (one if one.isprintable() else json.dumps(one)[1:-1] for one in text)
    sys.stdout.write(f"{''.join(shown)}\n")


def _tell(sentence: str) -> None:
    """To people, in which a server's words may stand: nothing in it steers their terminal."""
    shown = (one if one.isprintable() or one == "\n" else " " for one in sentence)
    sys.stderr.write(f"desk call: {''.join(shown)}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
