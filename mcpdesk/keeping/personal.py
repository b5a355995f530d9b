"""What belongs to one person, kind by kind: a dry run counts from this table, erasure goes by it.

Votes, decisions and starts stay, and name nobody once the account does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db.models import Q, QuerySet

from approvals.models import Comment, Draft, SavedFilter, Vote
from mcpdesk.accounts.models import Absence, ApiToken, User
from mcpdesk.audit.models import Export, LegalHold
from mcpdesk.notify.models import Message, Preference, PushSubscription
from tasks_monitor.models import Hold, Operation

Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of thing of a person. `left`: the columns once it is erased; None: the row goes."""

    name: str
    rows: Callable[[User], Rows]
    left: Mapping[str, Any] | None = None

    def erase(self, user: User) -> int:
        """Erase it, in the caller's transaction; how many rows held it."""
        rows = self.rows(user)
        if self.left is not None:
            return rows.update(**self.left)
        found = list(rows.values_list("pk", flat=True))
        rows.model._default_manager.filter(pk__in=found).delete()
        return len(found)


PARTS: Final = (
    Part(
        "reasons of votes",
        lambda user: Vote.objects.filter(user=user, reason__isnull=False),
        {"reason": None},
    ),
    Part("comments", lambda user: Comment.objects.filter(user=user)),
    Part("drafts", lambda user: Draft.objects.filter(user=user)),
    Part(
        "reasons why operations were started",
        lambda user: Operation.objects.filter(started_by=user).exclude(reason=""),
        {"reason": ""},
    ),
    Part(
        "reasons of holds",
        lambda user: Hold.objects.filter(begun_by=user).exclude(reason=""),
        {"reason": ""},
    ),
    Part(
        "reasons why legal holds began",
        lambda user: LegalHold.objects.filter(begun_by=user).exclude(reason=""),
        {"reason": ""},
    ),
    Part(
        "reasons why legal holds ended",
        lambda user: LegalHold.objects.filter(ended_by=user).exclude(end_reason=""),
        {"end_reason": ""},
    ),
    Part(
        "what lists were exported by",
        lambda user: Export.objects.filter(user=user).exclude(query=""),
        {"query": ""},
    ),
    Part(
        "tokens",
        lambda user: ApiToken.objects.filter(user=user).exclude(name="(erased)"),
        {"name": "(erased)"},
    ),
    Part("messages to them", lambda user: Message.objects.filter(user=user)),
    Part("browsers that are told", lambda user: PushSubscription.objects.filter(user=user)),
    Part("wishes about messages", lambda user: Preference.objects.filter(user=user)),
    Part("days away", lambda user: Absence.objects.filter(Q(user=user) | Q(stand_in=user))),
    Part("lists of their own", lambda user: SavedFilter.objects.filter(user=user)),
    Part("e-mail addresses", lambda user: EmailAddress.objects.filter(user=user)),
    Part(
        "sessions, with browsers and addresses", lambda user: UserSession.objects.filter(user=user)
    ),
    Part("second factors", lambda user: Authenticator.objects.filter(user=user)),
)
