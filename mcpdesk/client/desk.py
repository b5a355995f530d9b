"""A desk, as a program sees it."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Literal, Self

import httpx

from mcpdesk.client.errors import Unreachable
from mcpdesk.client.models import Approval, Event, Export, Operation, Repairs, Server, Tool
from mcpdesk.client.sending import Sender

Until = Literal["input", "end"]
Subject = Literal["operations", "approvals", "events"]
Tab = Literal["mine", "team", "decided"]
#: The desk holds an answer for so long at a time (s), and a little more passes on the way.
_HELD_S: Final = 30
_TIMEOUT_S: Final = _HELD_S + 15
#: After news it is looked at so soon again (s), after none in twice the time.
_SOON_S: Final = 3
#: While people are asked, so often (s): what they decide is no end, and comes with no answer.
_ASKED_S: Final = 10


class Desk:
    """`url` is the address of the desk, `token` one of its tokens (mdk_…)."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            timeout=_TIMEOUT_S,
            transport=transport,
        )
        self._sender = Sender(self._http, patience_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # --- operations -----------------------------------------------------------------------------

    def start(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        reason: str = "",
        repeatable: bool = False,
    ) -> Operation:
        """Start a tool, once for each `key`: a program that is run again gives the same one.

        Without a key one is made, and only this very request is repeated safely.
        """
        body = {
            "server": server,
            "tool": tool,
            "arguments": dict(arguments or {}),
            "reason": reason,
            "repeatable": repeatable,
        }
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        return Operation.read(self._sender.send("POST", "operations", json=body, headers=headers))

    def operation(self, id: str, *, wait_s: int = 0, until: Until = "input") -> Operation:
        """One operation, at once or when it has come as far as `until`, after `wait_s` at most."""
        query: dict[str, Any] = {"wait": wait_s, "until": until} if wait_s else {}
        return Operation.read(self._sender.send("GET", f"operations/{id}", params=query))

    def wait(
        self,
        id: str,
        *,
        until: Until = "end",
        timeout_s: float | None = None,
        told: Callable[[Operation], None] = lambda _: None,
    ) -> Operation:
        """Wait until it has ended, or an operator has to do something; `input`: or somebody has to.

        `told` is called with what is read on the way: soon after it moves on, and seldom while it
        does not. Raises TimeoutError after `timeout_s`.
        """
        ends_at = None if timeout_s is None else time.monotonic() + timeout_s
        found, pause_s = self.operation(id), _SOON_S
        told(found)
        while not _settled(found, until):
            left = _HELD_S if ends_at is None else ends_at - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{found.words}, after {timeout_s:g} s")
            before, held_s = found, max(1, min(pause_s, int(left)))
            found = self.operation(id, wait_s=held_s, until=_next(found, until))
            told(found)
            moved = _news(found) != _news(before)
            pause_s = _SOON_S if moved else min(pause_s * 2, _longest_s(found))
        return found

    def operations(self, **filters: str) -> Iterator[Operation]:
        """The team's operations, newest first; filters as the API has them."""
        return (Operation.read(one) for one in self._pages("operations", filters))

    def cancel(self, id: str) -> Operation:
        """Ask for cancellation: it is cancelled when the server says so."""
        return Operation.read(self._sender.send("POST", f"operations/{id}/cancel"))

    def adopt(self, server: str, task_id: str, tool: str, *, reason: str = "") -> Operation:
        """Put a task that some other client started under the desk's care."""
        body = {"server": server, "task_id": task_id, "tool": tool, "reason": reason}
        return Operation.read(self._sender.send("POST", "operations/adopt", json=body))

    # --- approvals ------------------------------------------------------------------------------

    def approvals(self, tab: Tab = "mine") -> Iterator[Approval]:
        """What waits for the token's person, for anybody of the team, or is over."""
        return (Approval.read(one) for one in self._pages("approvals", {"tab": tab}))

    def approval(self, id: str) -> Approval:
        """One item, with all that there is to read before it is decided."""
        return Approval.read(self._sender.send("GET", f"approvals/{id}"))

    def decide(
        self,
        approval: Approval,
        choice: str,
        *,
        reason: str = "",
        content: Mapping[str, Any] | None = None,
        gives_secrets: bool = False,
    ) -> Approval:
        """Decide what was read: approve or deny a gate; accept, decline or cancel a question.

        Raises Conflict where it changed since it was read.
        """
        body = {
            "binding": approval.binding or "",
            "choice": choice,
            "reason": reason,
            "content": dict(content or {}),
            "gives_secrets": gives_secrets,
        }
        answer = self._sender.send("POST", f"approvals/{approval.id}/decision", json=body)
        return Approval.read(answer["approval"])

    # --- repairs --------------------------------------------------------------------------------

    def repairs(self, id: str) -> Repairs:
        """What is known of an operation that broke, and what each choice would do."""
        return Repairs.read(self._sender.send("GET", f"operations/{id}/repair"))

    def repair(
        self, about: Repairs, choice: str, reason: str, *, evidence: str = "", task_id: str = ""
    ) -> str:
        """Say what becomes of what was read; what it came to, as the API says it.

        It is not repeated by itself: after Unreachable, read again. Raises Conflict where it is
        otherwise by now.
        """
        said = {"choice": choice, "reason": reason, "evidence": evidence, "task_id": task_id}
        return self._repair(about, "", said)

    def agree(self, about: Repairs) -> str:
        """Have what somebody else proposed carried out."""
        return self._repair(about, f"/{about.proposed['id']}/agree", {})

    def refuse(self, about: Repairs, reason: str) -> str:
        """Say no to what somebody else proposed, and why."""
        return self._repair(about, f"/{about.proposed['id']}/refuse", {"reason": reason})

    def _repair(self, about: Repairs, path: str, said: Mapping[str, str]) -> str:
        address = f"operations/{about.operation_id}/repair{path}"
        answer = self._sender.send_once("POST", address, json={"seen": about.seen, **said})
        return str(answer["came_to"])

    # --- exports --------------------------------------------------------------------------------

    def export(
        self,
        subject: Subject,
        filters: Mapping[str, str] | None = None,
        *,
        payloads: bool = False,
    ) -> Export:
        """Begin an export of what a list shows, as NDJSON; lines() gives it."""
        body = {"subject": subject, "filters": dict(filters or {}), "payloads": payloads}
        return Export.read(self._sender.send("POST", "exports", json=body))

    def lines(self, export: Export, *, after: str = "") -> Iterator[str]:
        """The lines of an export, as they come, behind the row with the id `after`.

        It is taken up again by itself where it breaks off, behind the last line that was whole,
        while that brings more. Raises Unreachable where it does not.
        """
        while True:
            began = after
            try:
                with self._sender.stream(f"exports/{export.id}/file", params=_from(after)) as rows:
                    for line in rows:
                        # a line that broke off is no JSON, and comes again
                        after = str(json.loads(line)["id"])
                        yield line
                return
            except (Unreachable, ValueError):
                if after == began:
                    raise

    # --- what there is --------------------------------------------------------------------------

    def servers(self) -> list[Server]:
        return [Server.read(one) for one in self._sender.send("GET", "servers")]

    def tools(self, server: str) -> list[Tool]:
        return [Tool.read(one) for one in self._sender.send("GET", f"servers/{server}/tools")]

    def events(self, after: int = 0, *, follow_every_s: float | None = None) -> Iterator[Event]:
        """The log from behind the event `after`; `follow_every_s`: and what comes, for ever."""
        while True:
            page = self._sender.send("GET", "events", params={"after": after})
            yield from (Event.read(one) for one in page["items"])
            after = page["after"]
            if not page["items"]:
                if follow_every_s is None:
                    return
                time.sleep(follow_every_s)

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        after = ""
        while True:
            page = self._sender.send("GET", path, params={**query, "after": after})
            yield from page["items"]
            after = page["after"]
            if not after:
                return


def _from(after: str) -> dict[str, str]:
    return {"after": after} if after else {}


def _settled(found: Operation, until: Until) -> bool:
    waits = found.needs == "operator" or (until == "input" and found.needs == "people")
    return found.ended or waits


def _news(found: Operation) -> tuple[str, str, list[str]]:
    """What differs where there is something to tell."""
    return found.state, found.message, [item.id for item in found.waiting]


def _longest_s(found: Operation) -> int:
    return _ASKED_S if found.needs == "people" else _HELD_S


def _next(found: Operation, until: Until) -> Until:
    """What the desk is asked to hold the answer for: the next question, where none is open now."""
    return "input" if found.needs is None else until
