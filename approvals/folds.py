"""What a page shows cut, and the proof that all of it was opened before anybody agrees to it.

Each folded text has a mark. The form posts the marks of what was opened: a tick that stands behind
the whole text, which the browser's script sets and a person without script sets by hand. The form's
token (binding) vouches for the texts themselves, so that a mark never speaks of another one.
"""

from collections.abc import Iterator

from approvals import question, tree
from approvals.models import Approval
from approvals.question import Question

#: A server's message longer than this is folded: with it whole, the buttons would be pages away.
LONG_MESSAGE_CHARS = 2000
#: So is a field's label, or what it says about itself, when it is longer than this.
LONG_WORDS_CHARS = 300

MESSAGE = "message"


def argument(number: int) -> str:
    """The mark of one row of the arguments, counted from 1."""
    return f"argument-{number}"


def of(approval: Approval) -> frozenset[str]:
    """The marks of all that the page of this item folds."""
    rows = tree.rows(approval.operation.payload.arguments)
    folded = {argument(number) for number, row in enumerate(rows, start=1) if row.is_long}
    if approval.input_request is not None:
        folded.update(_in_question(question.read(approval.input_request)))
    return frozenset(folded)


def why_not(approval: Approval, opened: frozenset[str]) -> str | None:
    """Why nobody can agree to this yet, in a sentence; None: all that is folded was opened."""
    unread = of(approval) - opened
    if not unread:
        return None
    values = "1 folded value is" if len(unread) == 1 else f"{len(unread)} folded values are"
    return f"Nothing was done: {values} not opened yet. Open each and tick that you read it."


def _in_question(asked: Question) -> Iterator[str]:
    if len(asked.message) > LONG_MESSAGE_CHARS:
        yield MESSAGE
    for number, field in enumerate(asked.fields):
        for part, words in (("label", field.label), ("help", field.help)):
            if len(words) > LONG_WORDS_CHARS:
                yield f"field-{number}-{part}-whole"
