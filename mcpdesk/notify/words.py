"""A message's content, as each way of travelling needs it."""

from dataclasses import dataclass
from urllib.parse import quote

from django.conf import settings

from mcpdesk.notify.models import Message

OPEN = "Open it in mcpdesk"


@dataclass(frozen=True, slots=True)
class Words:
    """What is said; every piece is one line (outbox.Notice.as_json)."""

    subject: str
    sentence: str
    link: str
    facts: tuple[tuple[str, str], ...]
    arguments: str


def words_of(message: Message, *, with_arguments: bool) -> Words:
    """What this message says, with an absolute link. Arguments only where they may still go."""
    content = message.content
    return Words(
        subject=content["subject"],
        sentence=content["sentence"],
        link=absolute(content["path"]),
        facts=tuple((label, value) for label, value in content["facts"]),
        arguments=content["arguments"] if with_arguments else "",
    )


def absolute(path: str) -> str:
    """The address of a page, as people open it (MCPDESK_URL)."""
    return f"{settings.PUBLIC_URL}{quote(path)}"
