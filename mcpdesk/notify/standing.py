"""Whether a message is still for its recipient, asked again when it is about to leave.

What was true when it was written may not be any more: people leave, roles change, channels are
switched off, matters close. The layer that keeps a matter registers who says so for it.
"""

from collections.abc import Callable

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.notify.models import Message, Topic

#: Why this message is not wanted any more, in a sentence; None: it is. The member is its
#: recipient as of now, None for a channel.
Concern = Callable[[Message, Member | None], str | None]

NOT_A_MEMBER = "No longer a member of the team."
NOT_ALERTED = "No longer an operator or admin of the team."
CHANNEL_OFF = "The channel is switched off."
BROWSER_OFF = "The browser does not take messages any more."

_CONCERNS: dict[str, Concern] = {}


def register(kind: str, concern: Concern) -> None:
    """Ask `concern` about messages whose matter is of this kind (what stands before its colon)."""
    _CONCERNS[kind] = concern


def why_not(message: Message) -> str | None:
    """Why this message must not leave (any more), in a sentence; None: it may.

    The message comes with its user, channel and subscription.
    """
    if message.channel is not None:
        return CHANNEL_OFF if not message.channel.enabled else _matter(message, None)
    if message.subscription is not None and message.subscription.off_at is not None:
        return BROWSER_OFF
    assert message.user is not None
    member = access.member_in(message.user, message.team_id)
    if member is None:
        return NOT_A_MEMBER
    if message.topic == Topic.ALERT and not member.may(Permission.OPERATE):
        return NOT_ALERTED
    return _matter(message, member)


def _matter(message: Message, member: Member | None) -> str | None:
    concern = _CONCERNS.get(message.matter.partition(":")[0])
    return concern(message, member) if concern else None
