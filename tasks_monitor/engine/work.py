"""One request to make: values that were read before, so that no database is needed meanwhile."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcpdesk.mcp.headers import HeaderPlan
from tasks_monitor.engine.claim import Claim
from tasks_monitor.session import Session, Step, new_request_id


class Work(Protocol):
    """A claim and the one exchange it is for."""

    @property
    def claim(self) -> Claim: ...

    def exchange(self, session: Session) -> Awaitable[Step[Any]]: ...


@dataclass(frozen=True, slots=True)
class Poll:
    """`tasks/get`."""

    claim: Claim

    def exchange(self, session: Session) -> Awaitable[Step[Any]]:
        return session.get_task(
            new_request_id(), self.claim.task_id, traceparent=self.claim.traceparent
        )


@dataclass(frozen=True, slots=True)
class Call:
    """`tools/call`, for an attempt that is recorded already. Payloads stay out of `repr`."""

    claim: Claim
    attempt_id: int
    request_id: int
    tool_name: str
    header_plan: HeaderPlan
    arguments: dict[str, Any] = field(repr=False)
    input_responses: dict[str, Any] | None = field(repr=False)
    request_state: str | None = field(repr=False)

    def exchange(self, session: Session) -> Awaitable[Step[Any]]:
        return session.call_tool(
            self.request_id,
            self.tool_name,
            self.arguments,
            self.header_plan,
            self.input_responses,
            self.request_state,
            traceparent=self.claim.traceparent,
        )


@dataclass(frozen=True, slots=True)
class Update:
    """`tasks/update` with the answers that are saved."""

    claim: Claim
    delivery_ids: tuple[int, ...]
    input_responses: dict[str, Any] = field(repr=False)

    def exchange(self, session: Session) -> Awaitable[Step[Any]]:
        return session.update_task(
            new_request_id(),
            self.claim.task_id,
            self.input_responses,
            traceparent=self.claim.traceparent,
        )


@dataclass(frozen=True, slots=True)
class Cancel:
    """`tasks/cancel`."""

    claim: Claim

    def exchange(self, session: Session) -> Awaitable[Step[Any]]:
        return session.cancel_task(
            new_request_id(), self.claim.task_id, traceparent=self.claim.traceparent
        )


@dataclass(frozen=True, slots=True)
class Done:
    """A work and what it came to."""

    work: Work
    step: Step[Any]


@dataclass(frozen=True, slots=True)
class Broke:
    """A work whose exchange raised: a fault of ours. The outcome is as if nothing had answered."""

    work: Work
    error: BaseException


@dataclass(frozen=True, slots=True)
class Left:
    """A work whose exchange was never begun: it waited too long behind others, or in vain."""

    work: Work
