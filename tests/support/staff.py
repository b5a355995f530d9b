"""Support staff with a browser, signed in with a second factor or not."""

import time
from datetime import datetime, timedelta

from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client
from django.utils import timezone

from mcpdesk.accounts.models import Role, SupportGrant, Team, User
from tests.factories import MembershipFactory, UserFactory


def make_staff(**more: object) -> User:
    """Support staff who belong to no team and have set up a second factor."""
    user: User = UserFactory(name="Sue Porter", is_staff=True, **more)
    TOTP.activate(user, generate_totp_secret())
    return user


def signed_in(user: User, *, factor: bool = True) -> Client:
    """A browser of theirs; the session remembers a second factor as django-allauth writes it."""
    client = Client()
    client.force_login(user)
    if factor:
        session = client.session
        session["account_authentication_methods"] = [{"method": "mfa", "at": time.time()}]
        session["account_authentication_methods_user"] = str(user.pk)
        session.save()
    return client


def let_in(team: Team, ends_at: datetime | None = None) -> SupportGrant:
    """The team lets support look, for a day unless said otherwise."""
    admin = MembershipFactory(team=team, role=Role.ADMIN).user
    now = timezone.now()
    end = ends_at or now + timedelta(days=1)
    begun = min(now, end) - timedelta(hours=1)
    return SupportGrant.objects.create(team=team, granted_by=admin, granted_at=begun, ends_at=end)
