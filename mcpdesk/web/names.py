"""People's names: what others go by when they read who decided, so nobody bears another's."""

from collections.abc import Iterable
from typing import Final

from approvals.lookalikes import skeleton
from approvals.text import SegmentKind, reveal
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import CLOCK, DESK

MAX_CHARS: Final = 120
#: What pages and the log call those who are nobody.
OF_THE_DESK: Final = (DESK.name, CLOCK.name, "A service", "The server", "Nobody", "mcpdesk")


def checked_name(text: str, *, teams: Iterable[int], person: User | None = None) -> str:
    """The name as it is kept, on one line.

    Raises Refused for one that cannot be read, or that can be taken for the desk's own words or for
    somebody else of these teams (ids), also for one whose account is closed: votes keep the name.
    """
    name = " ".join(text.split())
    if not name or len(name) > MAX_CHARS:
        raise Refused(f"A name has 1 to {MAX_CHARS} characters.")
    looks = skeleton(name)
    if not looks or any(segment.kind is not SegmentKind.PLAIN for segment in reveal(name)):
        raise Refused("A name has letters that can be seen, and no others.")
    if looks in {skeleton(word) for word in OF_THE_DESK}:
        raise Refused(f"The desk itself speaks of “{name}”. Choose another name.")
    refuse_taken(name, teams=teams, person=person)
    return name


def refuse_taken(name: str, *, teams: Iterable[int], person: User | None = None) -> None:
    """Raise Refused where somebody else of these teams (ids) bears a name that looks the same."""
    looks = skeleton(name)
    others = User.objects.filter(memberships__team__in=list(teams)).distinct()
    if person is not None:
        others = others.exclude(pk=person.pk)
    for other in others.only("name", "email"):
        if skeleton(str(other)) == looks:
            raise Refused(
                f"Somebody here is called {other}, and the two look the same. Add what tells them "
                "apart: another first name, or a department."
            )
