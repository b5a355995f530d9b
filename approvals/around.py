"""What stands around a question or a gate on its page: who works on it, who could, what was said.

The same for both kinds of item.
"""

from dataclasses import dataclass
from datetime import datetime

from approvals import claim, comments
from approvals.models import Approval, Audience, Comment, Shape
from approvals.standing import Standing
from approvals.votes import Progress
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User
from tasks_monitor import holds
from tasks_monitor.models import Hold


@dataclass(frozen=True, slots=True)
class Around:
    """As one member sees it at one moment; `deadline` is ours, in UTC, as it stands now."""

    member: Member
    asks: str  # whom it is put to, and how many of them are needed
    holder: User | None  # who has claimed it, while that lasts
    holder_until: datetime | None
    may_claim: bool
    deadline: datetime | None
    others: tuple[User, ...]  # who could still decide it
    is_short: bool  # too few of them are left
    acting_for: User | None
    hold: Hold | None
    comments: tuple[Comment, ...]  # none for those who may not read the item

    @property
    def is_mine(self) -> bool:
        """Whether this member has claimed it."""
        return self.holder is not None and self.holder.pk == self.member.user_id

    @property
    def colleagues(self) -> tuple[User, ...]:
        """Whom it can be handed to."""
        return tuple(user for user in self.others if user.pk != self.member.user_id)


def of(
    member: Member,
    approval: Approval,
    standing: Standing,
    progress: Progress,
    deadline: datetime | None,
    now: datetime,
    *,
    seen: bool,
) -> Around:
    """What stands around the item for this member; `seen`: they may read it."""
    is_open = approval.is_open
    works = is_open and (standing.can_act or standing is Standing.CLAIMED)
    return Around(
        member=member,
        asks=_asks(approval, progress.needed),
        holder=claim.holder(approval, now),
        holder_until=approval.claimed_until,
        may_claim=works and progress.needed == 1 and approval.shape != Shape.UNOFFERED,
        deadline=deadline,
        others=_others(progress),
        is_short=is_open and progress.who.headcount < progress.needed,
        acting_for=progress.who.acting_for(member) if works else None,
        hold=_hold(approval) if is_open else None,
        comments=tuple(comments.of(approval)) if seen else (),
    )


def _asks(approval: Approval, needed: int) -> str:
    if approval.audience == Audience.REQUESTER:
        return str(approval.operation.started_by)
    count = "one" if needed == 1 else str(needed)
    return f"{count} of {approval.get_audience_display()}"


def _others(progress: Progress) -> tuple[User, ...]:
    """Members who may decide and whose vote does not count yet, by name."""
    said = {vote.user_id for vote in progress.votes}
    return tuple(user for user in progress.who.users if user.pk not in said)


def _hold(approval: Approval) -> Hold | None:
    return holds.over(holds.in_force(approval.team_id), approval.operation.server_id)
