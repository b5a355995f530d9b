"""What would become of a call, for pages that ask before anything is started."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from approvals import gate, policy, recall
from approvals.models import Remembered
from mcpdesk.accounts.models import ApiToken, User
from tasks_monitor.models import Server


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The policy's word on a call, and the earlier approval by which nobody would be asked."""

    gate: policy.Gate
    by: Remembered | None

    @property
    def would(self) -> str:
        """What would happen and why, after "This call would"; ends with a dot."""
        if self.by is None:
            return policy.explain(self.gate)
        rule = f"rule {self.gate.number} ({self.gate.rule})"
        return f"run at once: {rule} asks, and {self.by.created_by} has approved such calls before."

    @property
    def asked(self) -> "Foreseen":
        """The same without what is remembered."""
        return replace(self, by=None)

    @property
    def answering(self) -> str:
        """Who would answer what the server asks, as a sentence; empty: its setting says."""
        disabled = self.gate.effect is policy.Effect.DISABLED
        return "" if disabled else policy.answering(self.gate.questions)


def foresee(
    server: Server,
    tool_name: str,
    arguments: dict[str, Any],
    user: User | None,
    now: datetime,
    token: ApiToken | None = None,
) -> Foreseen:
    """What gate.request_start() would do with this call; nothing is written.

    `token`: of the service that would start it, where no person does. Raises engine.errors.Refused.
    """
    found = gate.evaluate(server, tool_name, arguments, user)
    call = recall.Call(server, tool_name, arguments, user, token)
    return Foreseen(found, recall.find(call, found, now, lock=False))
