"""What the page of any item shows to one member, of a question and of a gate alike."""

from dataclasses import dataclass

from approvals import question, text, tree, votes
from approvals.around import Around
from approvals.earlier import Earlier
from approvals.models import Approval, Draft, Vote
from approvals.standing import Standing
from approvals.votes import Progress
from mcpdesk.accounts.access import Member


@dataclass(frozen=True, slots=True)
class AnyItem:
    """An item as one member sees it at one moment."""

    approval: Approval
    member: Member
    standing: Standing
    progress: Progress
    around: Around
    seen: bool  # whether this member may read the question and the arguments
    votes: list[Vote]  # all that was said, also what counts no more
    earlier: Earlier | None
    arguments: list[tree.Row]
    draft: Draft | None
    may_cancel_operation: bool

    @property
    def can_act(self) -> bool:
        return self.standing.can_act

    @property
    def may_comment(self) -> bool:
        return self.seen

    @property
    def counted_version(self) -> int:
        """The version of the item whose votes count."""
        return votes.counted_version(self.approval)

    @property
    def disguises(self) -> list[str]:
        """What to look out for in the arguments: what is not what it looks like."""
        found = text.disguises_in(tree.words_of(self.arguments))
        return [warning.sentence for warning in found]

    @property
    def server_host(self) -> str:
        return question.server_host(self.approval.operation.server.url)
