"""How a server's words reach a page: as text only, with all that hides written out."""

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from approvals.folds import LONG_MESSAGE_CHARS
from approvals.text import Segment, SegmentKind, reads_right_to_left, reveal

register = template.Library()

FIRST_LINE_CHARS = 160
BEGINNING_CHARS = 600
HUES = 6


@register.filter
def revealed(text: object) -> SafeString:
    """A server's text, whole; characters that hide stand as their code points, marked.

    What reads right to left is kept to itself (UAX 9, isolates): it reorders none of our words.
    """
    words = str(text)
    if words.isascii() and words.isprintable():
        return escape(words)  # nothing in it hides, and most words are like that
    shown = format_html_join("", "{}", ((_shown(segment),) for segment in reveal(words)))
    return format_html("<bdi>{}</bdi>", shown) if reads_right_to_left(words) else shown


@register.filter
def written_out(text: object) -> str:
    """The same where no mark can stand: in the title of a page, in words for screen readers."""
    return "".join(segment.text for segment in reveal(str(text)))


@register.filter
def first_line(text: object) -> SafeString:
    """The beginning of a server's text, for a row of a list."""
    line = str(text).strip().partition("\n")[0]
    cut = line[:FIRST_LINE_CHARS]
    return revealed(cut if cut == line else f"{cut}…")


@register.filter
def is_long(text: str) -> bool:
    """Whether a server's message is folded: with it whole, the buttons would be pages away."""
    return len(text) > LONG_MESSAGE_CHARS


@register.filter
def beginning(text: str) -> str:
    """What stands for a long message until it is opened."""
    return text[:BEGINNING_CHARS]


@register.filter
def hue(server_id: int) -> int:
    """One of a few colours, always the same for a server."""
    return server_id % HUES


def _shown(segment: Segment) -> SafeString | str:
    if segment.kind is SegmentKind.PLAIN:
        return segment.text
    return format_html('<span class="unseen" title="{}">{}</span>', segment.note, segment.text)
