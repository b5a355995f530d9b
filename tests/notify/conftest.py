"""People, items and ways to be told, for the tests of messages."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from approvals import notices
from approvals.models import Approval
from mcpdesk.accounts import access
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.notify.claim import claim
from mcpdesk.notify.deliver import carry
from mcpdesk.notify.models import Channel, ChannelKind, PushSubscription
from tests.factories import NOW, ApprovalFactory, MembershipFactory
from tests.notify.receiver import Receiver

Join = Callable[..., User]


@pytest.fixture(autouse=True)
def _mail(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.PUBLIC_URL = "https://desk.example.test"


@pytest.fixture
def approval(db: None) -> Approval:
    """An open item for the team's approvers; nobody is one yet."""
    return ApprovalFactory()


@pytest.fixture
def team(approval: Approval) -> Team:
    return approval.team


@pytest.fixture
def join(team: Team) -> Join:
    """A new member of the team."""

    def make(role: Role = Role.APPROVER, **user: Any) -> User:
        given = {f"user__{name}": value for name, value in user.items()}
        membership: Membership = MembershipFactory(team=team, role=role, **given)
        return membership.user

    return make


def webhook(team: Team, url: str = "https://hooks.example.test/in", **values: Any) -> Channel:
    """A signed webhook of the team."""
    values.setdefault("secret", {"current": "whsec_" + "c2VjcmV0" * 4})
    return channel(team, ChannelKind.WEBHOOK, {"url": url}, **values)


def channel(team: Team, kind: ChannelKind, target: dict[str, Any], **values: Any) -> Channel:
    """A channel of the team, as the product would write it."""
    values.setdefault("name", f"{kind} {Channel.objects.count()}")
    shown = "https://hooks.example.test:443"
    return Channel.objects.create(
        team=team, kind=kind, target=target, shown_as=shown, created_at=NOW, **values
    )


def browser_of(user: User, endpoint: str = "https://push.example.test/one") -> PushSubscription:
    """A browser that the person let the desk send to."""
    return PushSubscription.objects.create(
        user=user,
        endpoint_hash=f"{hash(endpoint)}",
        target={"endpoint": endpoint, "p256dh": "", "auth": ""},
        browser="Firefox on Linux",
        created_at=NOW,
    )


def put(approval: Approval) -> None:
    """The item opens: whoever may decide it is told."""
    notices.opened(approval, access.deciders(approval), NOW)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


def send_due(now: datetime) -> int:
    """Send what is due at `now`, one after the other; returns how many parcels there were."""
    parcels = claim(now, 100)
    for parcel in parcels:
        carry(parcel, lambda: now)
    return len(parcels)
