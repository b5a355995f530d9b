"""E-mail through the mail server of EMAIL_URL: plain text, and the same as simple HTML.

Mail programs make links of what looks like an address. Here nothing does but the desk's own.
"""

from dataclasses import replace
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.core.mail.message import BadHeaderError
from django.template.loader import render_to_string

from mcpdesk.accounts.adapter import sends_mail
from mcpdesk.notify.media.result import NotSent, Result, Sent
from mcpdesk.notify.models import Message
from mcpdesk.notify.plain import unlinked
from mcpdesk.notify.words import Words, absolute


def send(messages: list[Message], all_words: list[Words]) -> Result:
    """One mail with all of these. The first message's id is the mail's."""
    if not sends_mail():
        return NotSent("No mail server is set up (EMAIL_URL).", permanent=True)
    mail = _mail(messages[0], all_words)
    mail.to = _recipients(messages[0])
    try:
        mail.send()
    except BadHeaderError:
        return NotSent("The mail has a header that cannot be sent.", permanent=True)
    except (SMTPException, OSError) as error:
        return _refusal(error)
    return Sent(mail.extra_headers["Message-ID"])


def _mail(message: Message, all_words: list[Words]) -> EmailMultiAlternatives:
    shown = [_unlinked(words) for words in all_words]
    context = {
        "all_words": shown,
        "profile": absolute("/profile/"),
        "unlinked": shown != all_words,
    }
    mail = EmailMultiAlternatives(
        subject=_subject(shown),
        body=render_to_string("notify/mail.txt", context),
        headers={
            "Message-ID": f"<{message.pk}@{urlsplit(settings.PUBLIC_URL).hostname}>",
            # no vacation notice answers it (RFC 3834 section 5)
            "Auto-Submitted": "auto-generated",
        },
    )
    mail.attach_alternative(render_to_string("notify/mail.html", context), "text/html")
    return mail


def _unlinked(words: Words) -> Words:
    """The same, with nothing in it that becomes a link beside ours (plain.unlinked)."""
    return replace(
        words,
        subject=unlinked(words.subject),
        sentence=unlinked(words.sentence),
        facts=tuple((label, unlinked(value)) for label, value in words.facts),
        arguments=unlinked(words.arguments),
    )


def _subject(all_words: list[Words]) -> str:
    if len(all_words) == 1:
        return all_words[0].subject
    return f"{len(all_words)} things wait for you in mcpdesk"


def _recipients(message: Message) -> list[str]:
    if message.user is not None:
        return [message.user.email]
    assert message.channel is not None
    return list(message.channel.target["addresses"])


def _refusal(error: Exception) -> NotSent:
    """What a mail server's answer means; its text is not repeated (RFC 5321 section 4.2.1)."""
    if isinstance(error, SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
        permanent = all(code >= 500 for code in codes)
        return NotSent("The mail server refuses the recipient.", permanent=permanent)
    if isinstance(error, SMTPResponseException):
        permanent = error.smtp_code >= 500
        return NotSent(f"The mail server refuses the mail ({error.smtp_code}).", permanent)
    return NotSent("The mail server cannot be reached or broke off.")
