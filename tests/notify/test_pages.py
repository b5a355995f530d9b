"""The pages of channels and of one's own wishes: each verb, its refusals, its event."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import Approval
from mcpdesk.accounts.access import member_in
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.audit.admins import Who
from mcpdesk.audit.models import Event
from mcpdesk.notify import alerts, channels
from mcpdesk.notify.models import (
    Alert,
    Channel,
    ChannelKind,
    Message,
    MessageState,
    Preference,
    PushSubscription,
    TeamNotices,
)
from tests.factories import NOW, MembershipFactory
from tests.notify.conftest import browser_of, channel, put, webhook
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

HOOK = "https://hooks.example.test/T000/secret-part"
NEW = {"name": "Ops", "url": HOOK, "topics": ["asked", "alert"]}
SUBSCRIPTION = {
    "endpoint": "https://push.example.test/abc",
    "p256dh": "B" + "A" * 86,
    "auth": "A" * 22,
    "browser": "Firefox on Linux",
}


@pytest.fixture
def admin(team: Team) -> Membership:
    return MembershipFactory(team=team, role=Role.ADMIN)


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


def events(kind: str) -> list[dict[str, Any]]:
    return list(Event.objects.filter(kind=kind).values_list("data", flat=True))


def text(response: Any) -> str:
    return str(response.content.decode())


def dead(team: Team, **values: Any) -> Message:
    """A message that was given up."""
    hook = webhook(team)
    given = {"team": team, "medium": "webhook", "channel": hook, "target": f"c{hook.pk}"}
    content = {"subject": "Approve?", "sentence": "", "path": "/", "facts": [], "arguments": ""}
    return Message.objects.create(
        **given,
        topic="asked",
        event="approval.opened",
        matter="test:1",
        once=f"{hook.pk}",
        content=content,
        state=MessageState.DEAD,
        created_at=NOW,
        finished_at=NOW,
        attempts=8,
        last_error="The receiver is in trouble (HTTP 500).",
        **values,
    )


def test_a_webhook_shows_its_secret_once_and_its_address_never(client: Client, team: Team) -> None:
    response = client.post("/team/channels/new/webhook/", NEW)
    made = Channel.objects.get()
    secret = made.secret["current"]
    assert secret in text(response)
    for path in ("/team/channels/", f"/team/channels/{made.pk}/"):
        page = text(client.get(path))
        assert secret not in page and "secret-part" not in page
        assert "https://hooks.example.test:443" in page
    assert (made.team, made.target, made.topics) == (team, {"url": HOOK}, ["asked", "alert"])
    assert events("channel.added") == [{"channel": "Ops", "medium": "Signed webhook"}]


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://a.example/", "https://u:p@a.example/"])
def test_an_address_that_cannot_be_used_is_refused(client: Client, url: str) -> None:
    assert client.post("/team/channels/new/slack/", {**NEW, "url": url}).status_code == 422
    assert not Channel.objects.exists()


def test_a_mail_channel_takes_addresses_alone(client: Client) -> None:
    new = {"name": "List", "topics": ["asked"]}
    assert client.post("/team/channels/new/email/", {**new, "addresses": "x"}).status_code == 422
    client.post("/team/channels/new/email/", {**new, "addresses": "a@example.test\nb@example.test"})
    made = Channel.objects.get()
    assert made.target == {"addresses": ["a@example.test", "b@example.test"]}
    assert made.shown_as == "2 addresses"


def test_a_change_without_a_new_address_keeps_the_stored_one(client: Client, team: Team) -> None:
    hook = webhook(team, HOOK)
    client.post(f"/team/channels/{hook.pk}/", {"name": "Other", "url": "", "topics": ["alert"]})
    hook.refresh_from_db()
    assert (hook.name, hook.topics, hook.target) == ("Other", ["alert"], {"url": HOOK})
    assert events("channel.changed")[0]["fields"] == "name, topics"


def test_two_channels_of_a_team_have_two_names(client: Client, team: Team) -> None:
    webhook(team, name="Ops")
    response = client.post("/team/channels/new/slack/", NEW)
    assert response.status_code == 422
    assert "has that name" in text(response)


def test_a_channel_is_switched_off_and_on(client: Client, team: Team) -> None:
    hook = webhook(team, off_because="Gone.")
    for to, enabled in (("off", False), ("off", False), ("on", True)):
        client.post(f"/team/channels/{hook.pk}/switch/", {"to": to})
        hook.refresh_from_db()
        assert hook.enabled is enabled
    assert len(events("channel.disabled")) == len(events("channel.enabled")) == 1
    assert hook.off_because == ""


def test_a_new_secret_is_shown_once_and_the_old_one_goes_on_for_a_day(
    client: Client, team: Team
) -> None:
    hook = webhook(team)
    old = hook.secret["current"]
    response = client.post(f"/team/channels/{hook.pk}/rotate/")
    hook.refresh_from_db()
    assert hook.secret["current"] in text(response)
    assert "for 24 hours" in text(response)
    assert hook.secret["previous"] == old != hook.secret["current"]
    assert hook.secret["current"] not in text(client.get(f"/team/channels/{hook.pk}/"))
    assert len(events("channel.rotated")) == 1


def test_a_test_message_goes_through_the_outbox(client: Client, team: Team) -> None:
    hook = webhook(team, topics=[])
    client.post(f"/team/channels/{hook.pk}/test/")
    message = Message.objects.get()
    assert (message.channel, message.event, message.state) == (hook, "desk.test", "waiting")
    assert "A test message from mcpdesk" in text(client.get(f"/team/channels/{hook.pk}/"))


def test_a_channel_that_is_off_is_not_tested(client: Client, team: Team) -> None:
    client.post(f"/team/channels/{webhook(team, enabled=False).pk}/test/")
    assert not Message.objects.exists()


def test_deleting_asks_first(client: Client, team: Team) -> None:
    hook = webhook(team)
    path = f"/team/channels/{hook.pk}/delete/"
    assert "Delete it" in text(client.get(path))
    assert Channel.objects.exists()
    client.post(path)
    assert not Channel.objects.exists()
    assert events("channel.removed") == [{"channel": hook.name}]


def test_what_was_given_up_can_be_sent_again(client: Client, team: Team) -> None:
    message = dead(team)
    page = text(client.get("/team/channels/"))
    assert "8 attempts" in page and "HTTP 500" in page
    client.post(f"/team/messages/{message.pk}/again/")
    message.refresh_from_db()
    assert (message.state, message.attempts) == (MessageState.WAITING, 0)
    assert client.post(f"/team/messages/{message.pk}/again/").status_code == 404
    assert len(events("notice.sent_again")) == 1


def alert(team: Team, matter: str = "rule_failed:x") -> Alert:
    with transaction.atomic():
        alerts.raise_alert(team.pk, matter, "Rule x could not be applied.", NOW, path="/policies/")
    return Alert.objects.get(team=team, closed_at__isnull=True)


def test_an_alert_stands_on_every_page_of_an_admin_until_somebody_has_seen_to_it(
    client: Client, team: Team
) -> None:
    found = alert(team)
    for path in ("/inbox/", "/team/channels/"):
        assert "Rule x could not be applied." in text(client.get(path))
    assert "Rule x" not in text(browser(Role.APPROVER, team).get("/inbox/"))
    for _ in range(2):
        client.post(f"/alerts/{found.pk}/seen/")
    assert "Rule x" not in text(client.get("/inbox/"))
    assert events("alert.raised") == events("alert.closed") == [{"about": "rule_failed"}]


def test_an_alert_is_raised_once_while_it_is_open_and_again_after_that(
    admin: Membership, team: Team
) -> None:
    alert(team)
    alert(team)
    assert Message.objects.filter(event="alert.opened").count() == 1
    with transaction.atomic():
        alerts.close_alert(team.pk, "rule_failed:x", NOW)
        alerts.close_alert(team.pk, "rule_failed:x", NOW)
    alert(team)
    assert Message.objects.filter(event="alert.opened").count() == 2
    assert len(events("alert.raised")) == 2


def test_arguments_in_messages_are_off_and_switching_them_is_an_event(
    client: Client, team: Team
) -> None:
    assert "Off." in text(client.get("/team/channels/"))
    for to in ("on", "on", "off"):
        client.post("/team/channels/arguments/", {"to": to})
    assert events("notices.arguments") == [{"to": "on"}, {"to": "off"}]
    assert TeamNotices.objects.get().with_arguments is False


VERBS = ["", "switch/", "rotate/", "test/", "delete/"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_channel_of_another_team_does_not_exist(client: Client, verb: str) -> None:
    foreign = webhook(MembershipFactory().team)
    assert client.post(f"/team/channels/{foreign.pk}/{verb}", NEW).status_code == 404
    assert client.post(f"/team/messages/{dead(foreign.team).pk}/again/").status_code == 404
    assert not Event.objects.exists()


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_only_admins_see_and_change_channels(team: Team, role: Role) -> None:
    hook, message, other = webhook(team), dead(team), browser(role, team)
    paths = ["/team/channels/", "/team/channels/new/slack/", "/team/channels/arguments/"]
    paths += [f"/team/channels/{hook.pk}/{verb}" for verb in VERBS]
    paths += [f"/team/messages/{message.pk}/again/"]
    assert {other.post(path, NEW).status_code for path in paths[1:]} == {403}
    assert other.get(paths[0]).status_code == 403
    assert not Event.objects.exists()


def test_an_admin_who_is_none_any_more_changes_nothing(team: Team, admin: Membership) -> None:
    """The role is read again under the lock."""
    member = member_in(admin.user, team.pk)
    assert member is not None
    admin.role = Role.VIEWER
    admin.save()
    with pytest.raises(PermissionDenied, match="does not allow you"):
        channels.set_enabled(webhook(team).pk, False, who=Who(member, NOW))


def test_the_channels_page_costs_the_same_for_any_number(client: Client, team: Team) -> None:
    counts = []
    for more in (1, 5):
        for _ in range(more):
            dead(team)
        client.get("/team/channels/")
        with CaptureQueriesContext(connection) as queries:
            client.get("/team/channels/")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_ones_wishes_are_kept(client: Client, admin: Membership) -> None:
    said = {
        "topics": ["asked"],
        "email": "on",
        "timing": "daily",
        "daily_at": "07:30",
        "quiet_from": "22:00",
        "quiet_to": "07:00",
    }
    assert client.post("/profile/notifications/", said).status_code == 302
    kept = Preference.objects.get(user=admin.user)
    assert (kept.topics, kept.email, kept.push, kept.timing) == (["asked"], True, False, "daily")
    assert f"{kept.daily_at} {kept.quiet_from} {kept.quiet_to}" == "07:30:00 22:00:00 07:00:00"
    assert 'value="22:00"' in text(client.get("/profile/notifications/"))


def test_wishes_without_quiet_hours_are_kept(client: Client) -> None:
    said = {"timing": "at_once", "daily_at": "08:00", "quiet_from": "", "quiet_to": ""}
    assert client.post("/profile/notifications/", said).status_code == 302
    assert Preference.objects.get().topics == []


@pytest.mark.parametrize("quiet", [("22:00", ""), ("", "07:00"), ("22:00", "22:00")])
def test_half_of_quiet_hours_is_refused(client: Client, quiet: tuple[str, str]) -> None:
    said = {"timing": "at_once", "daily_at": "08:00"}
    said |= {"quiet_from": quiet[0], "quiet_to": quiet[1]}
    assert client.post("/profile/notifications/", said).status_code == 422
    assert not Preference.objects.exists()


def test_a_browser_subscribes_and_is_forgotten(client: Client, admin: Membership) -> None:
    path = "/profile/notifications/browsers/"
    for _ in range(2):
        client.post(path, SUBSCRIPTION)
    one = PushSubscription.objects.get()
    assert (one.user, one.browser) == (admin.user, "Firefox on Linux")
    page = text(client.get("/profile/notifications/"))
    assert "Firefox on Linux" in page and SUBSCRIPTION["endpoint"] not in page
    client.post(f"{path}{one.pk}/remove/")
    assert not PushSubscription.objects.exists()


def test_a_browser_belongs_to_whoever_subscribed_with_it_last(client: Client, team: Team) -> None:
    other = MembershipFactory(team=team)
    path = "/profile/notifications/browsers/"
    client.post(path, SUBSCRIPTION)
    signed_in(other).post(path, SUBSCRIPTION)
    assert PushSubscription.objects.get().user == other.user


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "http://push.example.test/abc"},
        {"endpoint": "nonsense"},
        {"endpoint": "https://push.example.test/" + "x" * 1000},
        {"p256dh": "AAAA"},
        {"auth": ""},
        {"p256dh": "ä" * 87},
    ],
)
def test_what_is_no_subscription_is_not_kept(client: Client, wrong: dict[str, str]) -> None:
    response = client.post("/profile/notifications/browsers/", {**SUBSCRIPTION, **wrong})
    assert response.status_code == 302
    assert not PushSubscription.objects.exists()


def test_nobody_forgets_the_browser_of_another(client: Client, team: Team) -> None:
    one = browser_of(MembershipFactory(team=team).user)
    path = f"/profile/notifications/browsers/{one.pk}/remove/"
    assert client.post(path).status_code == 404
    assert PushSubscription.objects.exists()


def test_the_service_worker_stands_at_the_root_for_everybody() -> None:
    response = Client().get("/push-worker.js")
    assert response["Content-Type"].startswith("text/javascript")
    assert "notificationclick" in text(response)


def test_the_link_of_a_message_shows_and_decides_nothing(
    approval: Approval, team: Team, admin: Membership
) -> None:
    """Mail scanners open every link, signed in or not, more than once."""
    channel(team, ChannelKind.EMAIL, {"addresses": ["a@example.test"]})
    put(approval)
    path = Message.objects.filter(channel__isnull=False).get().content["path"]
    before = Approval.objects.filter(pk=approval.pk).values().get()
    for _ in range(2):
        assert Client().get(path).status_code == 302
        assert signed_in(admin).get(path).status_code == 200
        assert Client().post(f"{path}decide/", {"choice": "accept"}).status_code in (302, 403)
    assert Approval.objects.filter(pk=approval.pk).values().get() == before
    decided = ("approval.voted", "approval.decided", "approval.closed")
    assert not Event.objects.filter(kind__in=decided).exists()
