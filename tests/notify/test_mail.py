"""Mail through a real SMTP server, and what a digest holds."""

import email
from collections.abc import Iterator
from datetime import time, timedelta
from email.header import decode_header, make_header
from email.message import Message as Mail
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.core import mail
from django.core.mail import EmailMultiAlternatives

from approvals.models import Approval
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.notify.models import (
    ChannelKind,
    Message,
    MessageState,
    Preference,
    Timing,
)
from tests.conftest import free_port
from tests.factories import NOW, ApprovalFactory
from tests.notify.conftest import Join, channel, put, send_due

pytestmark = pytest.mark.django_db

DUE = NOW + timedelta(seconds=15)


class Sink:
    """Takes mail, or refuses it with what `refuses` says."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self.refuses = ""

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: Any, session: Any, envelope: Any, to: str, *_: Any
    ) -> str:
        if self.refuses:
            return self.refuses
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        self.mails.append(email.message_from_bytes(envelope.content))
        return "250 OK"


@pytest.fixture
def sink(settings: Any) -> Iterator[Sink]:
    found = Sink()
    controller = Controller(found, hostname="127.0.0.1", port=free_port())
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = controller.port
    yield found
    controller.stop()


def parts_of(one: Mail) -> dict[str, str]:
    return {
        part.get_content_type(): part.get_payload(decode=True).decode()  # type: ignore[union-attr]
        for part in one.walk()
        if not part.is_multipart()
    }


def test_one_mail_arrives_with_text_and_html_and_a_link(
    approval: Approval, join: Join, sink: Sink
) -> None:
    join(email="anna@example.test")
    put(approval)
    send_due(DUE)
    send_due(DUE)
    (arrived,) = sink.mails
    link = f"https://desk.example.test/inbox/{approval.pk}/"
    assert arrived["To"] == "anna@example.test"
    assert arrived["Message-ID"] == f"<{Message.objects.get().pk}@desk.example.test>"
    for kind, text in parts_of(arrived).items():
        assert link in text, kind
        assert "Opening the link decides nothing" in text
    assert set(parts_of(arrived)) == {"text/plain", "text/html"}


@pytest.mark.parametrize(
    ("answer", "state"),
    [("550 No such person", MessageState.DEAD), ("451 Later", MessageState.FAILED)],
)
def test_a_refusal_of_the_mail_server_is_kept_in_our_words(
    approval: Approval, join: Join, sink: Sink, answer: str, state: MessageState
) -> None:
    sink.refuses = answer
    join()
    put(approval)
    send_due(DUE)
    message = Message.objects.get()
    assert (message.state, message.last_error) == (state, "The mail server refuses the recipient.")


def test_a_mail_server_that_is_away_is_tried_again(
    approval: Approval, join: Join, sink: Sink, settings: Any
) -> None:
    settings.EMAIL_PORT = 1
    join()
    put(approval)
    send_due(DUE)
    assert Message.objects.get().state == MessageState.FAILED


def test_a_tool_name_makes_no_header_and_no_markup(
    approval: Approval, join: Join, sink: Sink
) -> None:
    join(email="anna@example.test")
    approval.operation.tool_name = "x\r\nBcc: evil@example.test\r\n\r\n<b>you won</b>"
    put(approval)
    send_due(DUE)
    (arrived,) = sink.mails
    assert arrived["Bcc"] is None
    assert "<b>you won" not in parts_of(arrived)["text/html"]


def test_nothing_in_a_mail_becomes_a_link_but_the_desks_own(
    approval: Approval, join: Join, sink: Sink
) -> None:
    join(email="anna@example.test")
    approval.operation.tool_name = "login.example.com/pay"
    approval.operation.server.name = "https://example.org"
    put(approval)
    send_due(DUE)
    (arrived,) = sink.mails
    assert "example.com" not in str(make_header(decode_header(arrived["Subject"])))
    for kind, text in parts_of(arrived).items():
        ours = text.replace("https://desk.example.test", "")
        # once in the heading and once among the facts
        assert ours.count("login[.]example[.]com/pay") == 2, kind
        assert "https[:]//example[.]org" in ours
        assert "://" not in ours
        assert "example.com" not in ours
        assert "dots in brackets" in ours


def test_a_mail_without_such_names_says_nothing_of_brackets(
    approval: Approval, join: Join, sink: Sink
) -> None:
    join(email="anna@example.test")
    put(approval)
    send_due(DUE)
    (arrived,) = sink.mails
    assert all("brackets" not in text for text in parts_of(arrived).values())


def test_a_team_channel_of_addresses_is_one_mail(
    approval: Approval, team: Team, sink: Sink
) -> None:
    channel(team, ChannelKind.EMAIL, {"addresses": ["a@example.test", "b@example.test"]})
    put(approval)
    send_due(DUE)
    (arrived,) = sink.mails
    assert arrived["To"] == "a@example.test, b@example.test"


def other_item(team: Team) -> Approval:
    return ApprovalFactory(input_request__operation__server__team=team)


def outbox() -> list[EmailMultiAlternatives]:
    return mail.outbox


def test_a_digest_is_one_mail_with_everything_that_is_still_open(
    approval: Approval, team: Team, join: Join
) -> None:
    user = join()
    Preference.objects.create(user=user, timing=Timing.DAILY, daily_at=time(8))
    items = [approval, other_item(team), other_item(team)]
    for item in items:
        put(item)
    Message.objects.filter(approval_id=items[2].pk).update(state=MessageState.DROPPED)
    assert send_due(DUE) == 0
    morning = NOW.replace(day=30, hour=8)
    assert send_due(morning) == 1
    (sent,) = outbox()
    assert sent.subject == "2 things wait for you in mcpdesk"
    links = [f"/inbox/{item.pk}/" in sent.body for item in items]
    assert links == [True, True, False]
    states = Message.objects.values_list("state", flat=True)
    assert sorted(states) == ["dropped", "sent", "sent"]


def test_many_items_at_once_are_one_mail(approval: Approval, team: Team, join: Join) -> None:
    join()
    for item in (approval, *(other_item(team) for _ in range(20))):
        put(item)
    assert send_due(DUE) == 1
    (sent,) = outbox()
    assert sent.subject == "21 things wait for you in mcpdesk"
    assert send_due(DUE) == 0


def test_without_a_mail_server_nothing_is_printed_either(
    approval: Approval, join: Join, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    join()
    put(approval)
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    send_due(DUE)
    assert Message.objects.get().state == MessageState.DEAD
    assert "Subject" not in capsys.readouterr().out


def test_an_item_that_closed_without_a_word_is_not_in_the_digest(
    approval: Approval, team: Team, join: Join
) -> None:
    Preference.objects.create(user=join(), timing=Timing.HOURLY)
    other = other_item(team)
    put(approval)
    put(other)
    Approval.objects.filter(pk=other.pk).update(state="closed", closed_at=NOW)
    send_due(NOW + timedelta(hours=1))
    (sent,) = outbox()
    assert f"/inbox/{approval.pk}/" in sent.body and f"/inbox/{other.pk}/" not in sent.body


def test_who_left_between_writing_and_sending_gets_nothing(approval: Approval, join: Join) -> None:
    user = join()
    put(approval)
    Membership.objects.filter(user=user).delete()
    send_due(DUE)
    assert outbox() == []
    message = Message.objects.get()
    assert (message.state, message.last_error) == ("dropped", "No longer a member of the team.")


@pytest.mark.parametrize("change", [{"user__is_active": False}, {"role": Role.VIEWER}])
def test_who_was_deactivated_or_lost_the_role_gets_nothing(
    approval: Approval, join: Join, change: dict[str, Any]
) -> None:
    user = join()
    put(approval)
    membership = Membership.objects.get(user=user)
    if "role" in change:
        membership.role = change["role"]
        membership.save()
    else:
        user.is_active = False
        user.save()
    send_due(DUE)
    assert outbox() == []
    assert Message.objects.get().state == MessageState.DROPPED
