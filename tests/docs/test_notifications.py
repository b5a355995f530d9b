import re

from mcpdesk.notify.models import ChannelKind, MessageState, Topic
from mcpdesk.notify.settle import PAUSES_S
from tests.docs import pages

NOTIFICATIONS = pages.text_of("docs/notifications.md")
_UNITS = {"s": 1, "min": 60, "h": 3600}


def test_every_topic_is_explained_under_the_words_of_the_form() -> None:
    assert [row[0] for row in pages.tables(NOTIFICATIONS, "told of")] == Topic.labels


def test_every_state_is_explained_under_the_words_of_the_page() -> None:
    documented = {row[0] for row in pages.tables(NOTIFICATIONS, "it says")}
    assert documented == set(MessageState.labels)


def test_every_kind_of_channel_has_its_row() -> None:
    assert [row[0] for row in pages.tables(NOTIFICATIONS, "channel")] == ChannelKind.labels


def test_the_pauses_between_attempts_are_those_of_the_code() -> None:
    found = re.search(r"tried again after (.+?), each give or take", NOTIFICATIONS)
    assert found is not None
    spans = re.findall(r"(\d+) (s|min|h)", found[1])
    assert tuple(int(number) * _UNITS[unit] for number, unit in spans) == PAUSES_S


def test_the_events_are_those_that_are_sent() -> None:
    documented = {
        name for row in pages.tables(NOTIFICATIONS, "event") for name in pages.code_in(row[0])
    }
    sources = [
        "approvals/notices.py",
        "mcpdesk/notify/alerts.py",
        "mcpdesk/notify/channels.py",
        "tasks_monitor/engine/telling.py",
    ]
    sent = {
        name
        for source in sources
        for name in re.findall(
            r'"((?:approval|alert|desk|operation)\.[a-z_]+)"',
            (pages.CHECKOUT / source).read_text("utf-8"),
        )
    }
    # handing is between two people; the rest of the names are of the log
    assert documented == sent - {"approval.handed", "alert.raised"}
