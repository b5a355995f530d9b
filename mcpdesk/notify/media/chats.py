"""Slack and Teams by incoming webhook. Neither can edit what it has shown: an ending is a line.

Names that others gave are sent as plain text, never as markup: no link and no mention of theirs.
"""

import json
from datetime import datetime
from typing import Any

from mcpdesk.notify.media.result import Result, of_answer
from mcpdesk.notify.media.webhook import post_to
from mcpdesk.notify.models import Message
from mcpdesk.notify.words import OPEN, Words

_HEADERS = {"content-type": "application/json"}
#: What Slack answers when an incoming webhook was removed or its channel is gone, beside 410.
_SLACK_GONE = (404,)


def send_to_slack(message: Message, words: Words, now: datetime) -> Result:
    """One message in a Slack channel."""
    return _send(message, slack(words), now, gone=_SLACK_GONE)


def send_to_teams(message: Message, words: Words, now: datetime) -> Result:
    """One card in a Teams channel."""
    return _send(message, teams(words), now)


def _send(
    message: Message, body: dict[str, Any], now: datetime, gone: tuple[int, ...] = ()
) -> Result:
    assert message.channel is not None
    answer = post_to(message.channel, _HEADERS, json.dumps(body).encode())
    return of_answer(answer, now, gone=gone)


def slack(words: Words) -> dict[str, Any]:
    """The payload of a Slack incoming webhook (Block Kit)."""
    lines = [words.sentence, *(f"{label}: {value}" for label, value in words.facts)]
    if words.arguments:
        lines.append(f"Arguments: {words.arguments}")
    return {
        # for notifications; the only text that Slack reads as markup
        "text": escaped(words.subject),
        "blocks": [
            {"type": "header", "text": _plain(words.subject[:150])},
            {"type": "section", "text": _plain("\n".join(lines)[:3000])},
            {
                "type": "actions",
                "elements": [{"type": "button", "text": _plain(OPEN), "url": words.link}],
            },
        ],
        "unfurl_links": False,
    }


def escaped(text: str) -> str:
    """Text without meaning for Slack: its three control characters escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def teams(words: Words) -> dict[str, Any]:
    """The payload of a Teams workflow that waits for a webhook: one Adaptive Card (1.4).

    Text runs are shown as they are, where text blocks would read them as Markdown.
    """
    runs = [_run(words.subject, weight="Bolder", size="Medium"), _run(words.sentence)]
    runs += [_run(f"{label}: {value}") for label, value in words.facts]
    if words.arguments:
        runs.append(_run(f"Arguments: {words.arguments}", fontType="Monospace"))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": runs,
        "actions": [{"type": "Action.OpenUrl", "title": OPEN, "url": words.link}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _run(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
