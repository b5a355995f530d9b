"""Web Push: what a push service receives, and what a browser makes of it."""

import base64
from datetime import timedelta
from functools import partial
from typing import Any

import http_ece
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02

from approvals import notices
from approvals.models import Approval, ApprovalState
from mcpdesk.http.posting import post
from mcpdesk.notify import vapid
from mcpdesk.notify.media import push
from mcpdesk.notify.models import Message, MessageState, PushKey, PushSubscription, TeamNotices
from tests.factories import NOW
from tests.notify.conftest import Join, browser_of, put, send_due
from tests.notify.receiver import Received, Receiver, status

pytestmark = pytest.mark.django_db

DUE = NOW + timedelta(seconds=15)
AUTH = b"0123456789abcdef"


def coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture
def key() -> ec.EllipticCurvePrivateKey:
    """The key pair of a subscription."""
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def subscription(
    join: Join,
    receiver: Receiver,
    key: ec.EllipticCurvePrivateKey,
    monkeypatch: pytest.MonkeyPatch,
) -> PushSubscription:
    monkeypatch.setattr(push, "post", partial(post, allow_private=True))
    point = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    found = browser_of(join(), receiver.url)
    found.target = {"endpoint": receiver.url, "p256dh": coded(point), "auth": coded(AUTH)}
    found.save()
    return found


def opened(received: Received, key: ec.EllipticCurvePrivateKey) -> Any:
    """What the browser reads."""
    clear = http_ece.decrypt(received.body, private_key=key, auth_secret=AUTH, version="aes128gcm")
    return Received("", {}, clear).json


def test_a_browser_can_read_it_and_nobody_on_the_way(
    approval: Approval,
    subscription: PushSubscription,
    receiver: Receiver,
    key: ec.EllipticCurvePrivateKey,
) -> None:
    TeamNotices.objects.create(team=approval.team, with_arguments=True)
    put(approval)
    send_due(DUE)
    (received,) = receiver.requests
    shown = opened(received, key)
    assert shown["url"] == f"https://desk.example.test/inbox/{approval.pk}/"
    assert shown["title"].startswith("Answer a question: server-")
    assert "project" not in str(shown).replace("deploy_project", "")
    assert received.headers["content-encoding"] == "aes128gcm"
    assert int(received.headers["ttl"]) > 0


def test_the_push_service_learns_who_the_desk_is(
    approval: Approval, subscription: PushSubscription, receiver: Receiver
) -> None:
    put(approval)
    send_due(DUE)
    authorization = receiver.requests[0].headers["authorization"]
    assert Vapid02.verify(authorization)
    assert PushKey.objects.get().public_key in authorization


def test_an_ending_takes_the_place_of_what_was_shown(
    approval: Approval,
    subscription: PushSubscription,
    receiver: Receiver,
    key: ec.EllipticCurvePrivateKey,
) -> None:
    put(approval)
    send_due(DUE)
    approval.state, approval.closed_at = ApprovalState.WITHDRAWN, DUE
    approval.save()
    notices.closed(approval, DUE)
    send_due(DUE)
    first, second = (opened(received, key) for received in receiver.requests)
    assert first["tag"] == second["tag"]
    assert (first["over"], second["over"]) == (False, True)
    assert second["body"] == "The server withdrew its question."


@pytest.mark.parametrize("code", [404, 410])
def test_a_browser_that_is_gone_is_switched_off_with_a_note(
    approval: Approval, subscription: PushSubscription, receiver: Receiver, code: int
) -> None:
    receiver.behaviour = status(code)
    put(approval)
    send_due(DUE)
    notices.reminded(approval, NOW)
    send_due(DUE)
    subscription.refresh_from_db()
    assert len(receiver.requests) == 1
    assert subscription.off_at == DUE
    assert subscription.last_problem == f"The address is gone (HTTP {code})."


def test_a_key_that_is_none_ends_the_subscription(
    approval: Approval, subscription: PushSubscription, receiver: Receiver
) -> None:
    subscription.target = {**subscription.target, "p256dh": "AAAA"}
    subscription.save()
    put(approval)
    send_due(DUE)
    subscription.refresh_from_db()
    assert receiver.requests == []
    assert subscription.off_at == DUE
    assert Message.objects.get(medium="push").state == MessageState.DEAD


def test_no_message_goes_to_an_endpoint_on_a_private_address(
    approval: Approval,
    subscription: PushSubscription,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(push, "post", post)
    put(approval)
    send_due(DUE)
    assert receiver.requests == []
    assert Message.objects.get(medium="push").state == MessageState.DEAD


def test_the_key_of_the_desk_is_made_at_set_up_once_and_kept_encrypted() -> None:
    first = vapid.key()
    vapid.make_key()
    assert vapid.key() == first
    assert "PRIVATE KEY" in first.private_key
    raw = PushKey.objects.extra(select={"raw": "private_key"}).values_list("raw", flat=True)
    assert b"PRIVATE KEY" not in bytes(raw[0])
