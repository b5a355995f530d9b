"""The many small parts of a chart and of the table behind it.

A quarter in days is thousands of numbers. As variables of a template, or by format_html, each costs
ten times what it does here.
"""

from collections.abc import Iterable
from typing import Any, Final

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from mcpdesk.web.drawing import Bar, Bars, Dots
from tasks_monitor.lengths import length_in_words

register = template.Library()

_BAR: Final = '<g class="chart-bar"><title>{}</title>{}</g>'
_PIECE: Final = (
    '<rect x="{}%" y="{}" width="{}%" height="{}" fill="url(#pattern-{})" class="piece piece-{}"/>'
)
_STROKE: Final = '<line class="stroke stroke-{}" x1="{}%" y1="{}" x2="{}%" y2="{}"/>'
_DOT: Final = (
    '<g class="chart-dot"><title>{}</title><svg x="{}%" y="{}" overflow="visible">'
    '<path class="point-ninetieth" d="M0-4 4 3H-4z"/></svg>'
    '<circle class="point-median" cx="{}%" cy="{}" r="3.5"/></g>'
)
_ROW: Final = '<tr><th scope="row">{}</th>{}</tr>'
_NUMBER: Final = '<td class="number">{}</td>'


@register.simple_tag
def chart_bars(chart: Bars) -> SafeString:
    """The bars, each with the words that say it all."""
    return _each(_BAR, ((escape(bar.words), _pieces(bar)) for bar in chart.bars))


def _pieces(bar: Bar) -> SafeString:
    places = ((bar.x, one.y, bar.width, one.height, one.outcome, one.outcome) for one in bar.pieces)
    return _each(_PIECE, places)


@register.simple_tag
def chart_dots(chart: Dots) -> SafeString:
    """The dots over the lines that join them."""
    strokes = ((one.kind, one.x1, one.y1, one.x2, one.y2) for one in chart.strokes)
    dots = ((escape(dot.words), dot.x, dot.ninetieth_y, dot.x, dot.median_y) for dot in chart.dots)
    return _each(_STROKE, strokes) + _each(_DOT, dots)


@register.simple_tag
def bars_table(chart: Bars) -> SafeString:
    """A row for each time: how many came to each outcome."""
    return _rows((name, [f"{count:,}" for count in counts]) for name, counts in chart.rows)


@register.simple_tag
def dots_table(chart: Dots) -> SafeString:
    """A row for each time: how many there were, and how long half and nine tenths of them took."""
    return _rows(
        (name, [f"{pace.count:,}", *map(length_in_words, (pace.median_ms, pace.ninetieth_ms))])
        for name, pace in chart.rows
    )


def _rows(rows: Iterable[tuple[str, list[str]]]) -> SafeString:
    return _each(_ROW, ((escape(name), _each(_NUMBER, zip(numbers))) for name, numbers in rows))


def _each(form: str, filled: Iterable[tuple[Any, ...]]) -> SafeString:
    """The form, filled with numbers and names of ours and with what was escaped, in a row."""
    return mark_safe("".join(form.format(*places) for places in filled))  # noqa: S308
