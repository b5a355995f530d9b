"""Template tags of the shell: times in the reader's zone, and form controls."""

from collections.abc import Iterable
from datetime import UTC, datetime

from django import forms, template
from django.forms import BoundField
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.tree import Row
from approvals.tree import rows as tree_rows
from mcpdesk.mcp.notes import Note
from tasks_monitor.holds import over as hold_over
from tasks_monitor.models import Hold

register = template.Library()

_FOR_ADMINS = ("/team/channels/", "/audit/")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def in_words(seconds: float) -> str:
    """A span of time (s) in one unit ("12 min"); page.js says the same while a page is open."""
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR} h"
    return f"{whole // _DAY} days"


@register.filter
def span(seconds: float) -> str:
    """A span of time (s): "12 min"."""
    return in_words(seconds)


@register.filter
def is_for_admins(path: str) -> bool:
    """Whether a page that an alert leads to opens to admins alone; operators are alerted too."""
    return path.startswith(_FOR_ADMINS)


def zone_name(at: datetime) -> str:
    """The zone of a time as people write it; an unnamed one by its offset ("UTC+03")."""
    name = at.tzname() or "UTC"
    return f"UTC{name}" if name[0] in "+-" else name


def clock_words(at: datetime, now: datetime) -> str:
    """A time in the reader's zone with the zone named; the date only when it is not today's."""
    local, today = timezone.localtime(at), timezone.localtime(now)
    if local.date() == today.date():
        return f"{local:%H:%M:%S} {zone_name(local)}"
    year = "" if local.year == today.year else f" {local.year}"
    return f"{local.day} {local:%b}{year}, {local:%H:%M} {zone_name(local)}"


def _stamp(at: datetime) -> tuple[str, str]:
    """For machines (datetime=) and for the hover: the exact UTC time."""
    utc = at.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z", f"{utc:%Y-%m-%d %H:%M:%S} UTC"


@register.simple_tag
def when(at: datetime | None) -> SafeString | str:
    """A point in time ("14:05:07 CET"), the exact UTC on hover."""
    if at is None:
        return "–"
    machine, exact = _stamp(at)
    words = clock_words(at, timezone.now())
    return format_html('<time datetime="{}" title="{}">{}</time>', machine, exact, words)


@register.filter
def moment(text: str) -> datetime:
    """The point in time that an ISO 8601 text of our own names."""
    return datetime.fromisoformat(text)


@register.simple_tag
def ago(at: datetime | None) -> SafeString | str:
    """How long ago ("3 s ago"), moving while the page is open."""
    if at is None:
        return "never"
    return _moving(at, "past", f"{in_words((timezone.now() - at).total_seconds())} ago")


@register.simple_tag
def until(at: datetime | None) -> SafeString | str:
    """How long until ("in 4 s", "now" once it has passed), moving while the page is open."""
    if at is None:
        return "–"
    left = (at - timezone.now()).total_seconds()
    return _moving(at, "future", f"in {in_words(left)}" if left > 0 else "now")


@register.simple_tag
def left(at: datetime | None) -> SafeString | str:
    """How much time is left of a deadline ("28 min left", "time is up"), moving."""
    if at is None:
        return "–"
    rest = (at - timezone.now()).total_seconds()
    return _moving(at, "deadline", f"{in_words(rest)} left" if rest > 0 else "time is up")


def _moving(at: datetime, direction: str, words: str) -> SafeString:
    machine, exact = _stamp(at)
    return format_html(
        # it moves every second: a screen reader must not be told each time
        '<time data-moving="{}" aria-live="off" datetime="{}" title="{}">{}</time>',
        direction,
        machine,
        exact,
        words,
    )


@register.simple_tag
def age(at: datetime) -> SafeString:
    """How old ("12 min"), moving while the page is open."""
    machine, exact = _stamp(at)
    words = in_words((timezone.now() - at).total_seconds())
    return format_html(
        '<time data-age aria-live="off" datetime="{}" title="{}">{}</time>', machine, exact, words
    )


@register.filter
def is_checkbox(field: BoundField) -> bool:
    return isinstance(field.field.widget, forms.CheckboxInput)


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's control with Tabler's classes, marked when it has an error."""
    widget = field.field.widget
    if isinstance(widget, forms.CheckboxInput):
        css = "form-check-input"
    elif isinstance(widget, forms.Select):
        css = "form-select"
    else:
        css = "form-control"
    own = widget.attrs.get("class", "")
    invalid = "is-invalid" if field.errors else ""
    return field.as_widget(attrs={"class": " ".join(filter(None, (css, own, invalid)))})


@register.filter
def rows(value: object) -> list[Row]:
    """A JSON value as rows of names and values."""
    return tree_rows(value)


@register.filter
def over(holds: Iterable[Hold], server_id: int) -> Hold | None:
    """Which of the holds in force (`holds`, on every page) stops this server; None: none."""
    return hold_over(holds, server_id)


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"


@register.filter
def lasting(milliseconds: int | None) -> str:
    """A span of time that is over (ms), in one unit."""
    return "–" if milliseconds is None else in_words(milliseconds / 1000)


@register.filter
def note_sentences(codes: list[str]) -> list[str]:
    """What each kept note means; a code from another version of the desk stands for itself."""
    return [Note(code).sentence if code in list(Note) else code for code in codes]
