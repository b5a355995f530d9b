"""The verbs of one's own sessions: end one of them, or all but the one that is used now."""

from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import F

from mcpdesk.accounts import devices
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor, record


@transaction.atomic(durable=True)
def end_one(member: Member, pk: int, now: datetime) -> None:
    """End one session of one's own, and its open pages. Raises UserSession.DoesNotExist."""
    row = UserSession.objects.select_for_update(of=("self",)).get(pk=pk, user_id=member.user_id)
    devices.end([row.session_key])
    _note("user.session_ended", member, now)


@transaction.atomic(durable=True)
def end_others(member: Member, this: SessionBase, now: datetime) -> None:
    """End every session of one's own but `this`, and their open pages; known or not.

    It is the sign-out everywhere, after which this session alone is given what it is checked with.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=member.user_id)
    User.objects.filter(pk=user.pk).update(sign_outs=F("sign_outs") + 1)
    user.refresh_from_db(fields=["sign_outs"])
    this[HASH_SESSION_KEY] = user.get_session_auth_hash()
    this.save()
    others = UserSession.objects.filter(user=user).exclude(session_key=this.session_key)
    devices.end(others.values_list("session_key", flat=True))
    _note("user.others_ended", member, now)


def _note(kind: str, member: Member, now: datetime) -> None:
    """In each team of the person: whoever of their pages is open there looks at once."""
    for team_id in member.user.memberships.order_by("team").values_list("team", flat=True):
        record(kind, team_id=team_id, actor=Actor.person(member), now=now)
