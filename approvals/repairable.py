"""What can be done about an operation that the desk cannot follow, and what each choice does."""

from dataclasses import dataclass
from typing import Final

from approvals import gate, policy, repair
from approvals.models import Approval, ApprovalState, Kind, Verdict
from tasks_monitor import broken
from tasks_monitor.broken import Fact
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.models import Operation, Repair, RepairState
from tasks_monitor.states import NEEDS_OPERATOR, State

#: Each choice, and what it does, said before it is chosen.
CHOICES: Final[dict[Choice, tuple[str, str]]] = {
    Choice.SEND_AGAIN: (
        "Send the call again",
        "The same tool with the same arguments, as another attempt of this operation. If the first "
        "call did arrive, its effect happens twice.",
    ),
    Choice.ATTACH_TASK: (
        "Attach a task id",
        "You found the task on the server. The desk follows it from now on, and takes its result "
        "as this operation's. Nothing is sent but the question how it is. The id is not checked "
        "first: if the server does not know it, the operation is lost.",
    ),
    Choice.RECORD_DONE: (
        "Record as done",
        "You saw on the server that it was done. The operation ends as completed, without a "
        "result; nothing is sent. This is final.",
    ),
    Choice.RECORD_FAILED: (
        "Record as failed",
        "You saw that it was not done, or it no longer matters. The operation ends as failed; "
        "nothing is sent. This is final: a new call is a new operation.",
    ),
}
#: What a choice does beside that where the operation is a task.
_TO_THE_TASK: Final = {
    Choice.SEND_AGAIN: " The task that it has now is not followed any more, and may run on.",
    Choice.ATTACH_TASK: " The task that it has now is given up: it is not followed any more.",
}
#: What a choice needs beside a reason.
_NEEDS: Final = {Choice.ATTACH_TASK: "task_id", Choice.RECORD_DONE: "evidence"}


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. `gate`: what the policy makes of it; `why_not`: why it cannot be chosen (empty:
    it can); `needs`: what is given with it beside a reason.
    """

    choice: Choice
    words: str
    consequence: str
    gate: str
    why_not: str
    needs: str

    @property
    def value(self) -> str:
        return self.choice.value


@dataclass(frozen=True, slots=True)
class Past:
    """What was decided before. `at_the_gate`: what came of a call that had to wait there first."""

    repair: Repair
    at_the_gate: str


@dataclass(frozen=True, slots=True)
class About:
    """All there is to read before it is decided; `seen` stands for it (repair.seen_of)."""

    is_broken: bool
    known: list[Fact]
    not_known: str
    options: list[Option]
    needs_two: bool
    proposed: Repair | None
    past: list[Past]
    seen: str


def read(operation: Operation) -> About:
    """What is known of it, what is not, what can be done, and what was done before."""
    is_broken = State(operation.state) in NEEDS_OPERATOR
    says = gate.evaluate_call(operation) if is_broken else None
    proposed = repair.standing(operation)
    return About(
        is_broken=is_broken,
        known=broken.known(operation),
        not_known=broken.not_known(operation),
        options=[_option(choice, operation, says) for choice in CHOICES],
        needs_two=bool(says and says.repairs_need_two),
        proposed=proposed,
        past=_past(operation, proposed),
        seen=repair.seen_of(operation),
    )


def _past(operation: Operation, proposed: Repair | None) -> list[Past]:
    items = Approval.objects.filter(operation=operation, kind=Kind.GATE)
    # made in one transaction with the repair, at one time (repair._carry_out)
    made = {item.created_at: item for item in items.select_related("decided_by").defer("proposal")}
    found = []
    for one in repair.of(operation):
        if one == proposed:
            continue
        asked = one.choice == Choice.SEND_AGAIN and one.state == RepairState.DONE
        item = made.get(one.decided_at) if asked and one.decided_at else None
        found.append(Past(one, _came_of(item) if item else ""))
    return found


def _came_of(item: Approval) -> str:
    """What came of the item at the gate on which sending again waited."""
    if item.state == ApprovalState.OPEN:
        return "It went to the gate, and waits there."
    if item.state == ApprovalState.EXPIRED:
        return "It went to the gate, and was not decided in time: it was not sent again."
    if item.state != ApprovalState.DECIDED:
        return "It went to the gate, and was taken back or over before that was decided."
    if item.decision == Verdict.APPROVE:
        return f"It went to the gate: approved by {item.decided_by}."
    return f"It went to the gate: denied by {item.decided_by}. It was not sent again."


def _option(choice: Choice, operation: Operation, says: policy.Gate | None) -> Option:
    words, consequence = CHOICES[choice]
    sends = choice is Choice.SEND_AGAIN
    return Option(
        choice=choice,
        words=words,
        consequence=consequence + (_TO_THE_TASK.get(choice, "") if operation.has_task else ""),
        gate=_at_the_gate(says) if sends and says else "",
        why_not=_why_not(operation, says) if sends else "",
        needs=_NEEDS.get(choice, ""),
    )


def _at_the_gate(says: policy.Gate) -> str:
    if says.effect is policy.Effect.ASK:
        return "The policy asks first: it is sent once that is approved."
    allows = says.effect is policy.Effect.ALLOW
    return "The policy lets it run: it is sent at once." if allows else ""


def _why_not(operation: Operation, says: policy.Gate | None) -> str:
    """Why the call cannot be sent again."""
    if operation.adopted:
        return "Another client made this call: the desk has none to send."
    disabled = says is not None and says.effect is policy.Effect.DISABLED
    return "The policy disables this tool." if disabled else ""
