"""A question's form for those who read it and cannot fill it in, and what stands proposed in it."""

from dataclasses import dataclass

from approvals import answered, forms, proposal
from approvals.forms import Control
from approvals.models import Approval
from approvals.question import Question


@dataclass(frozen=True, slots=True)
class ReadField:
    """One field to be read; `proposed` is in words, empty where nothing stands proposed for it."""

    control: Control
    proposed: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The titles of what could be picked, which are the server's words."""
        return tuple(choice.title for choice in self.control.field.choices)

    @property
    def has_many(self) -> bool:
        """Whether the choices are folded, as a form folds them into a list."""
        return len(self.choices) > forms.MAX_BUTTONS


def fields(approval: Approval, asked: Question) -> list[ReadField]:
    """All fields of the question; a proposal is shown until an answer takes its place."""
    shown = proposal.posted(approval, asked) if approval.decision == "" else None
    return [
        ReadField(control, _proposed(control, approval) if shown is not None else "")
        for control in forms.controls(asked, shown or {}, {})
    ]


def _proposed(control: Control, approval: Approval) -> str:
    """In the words of the form. What looks like a secret is not shown, only that there is one."""
    content = (approval.proposal or {}).get("content", {})
    name = control.field.name
    return answered.in_words(control.field, content[name]) if name in content else ""
