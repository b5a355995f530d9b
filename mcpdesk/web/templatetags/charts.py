"""The many small parts of a chart and of the table behind it.

A quarter in days is thousands of numbers. As variables of a template, or by format_html, each costs
ten times what it does here.
"""

from collections.abc import Iterable
from itertools import chain

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from mcpdesk.web.drawing import Bar, Bars, Dots
from tasks_monitor.lengths import length_in_words

register = template.Library()


@register.simple_tag
def chart_bars(chart: Bars) -> SafeString:
    """The bars, each with the words that say it all."""
    return _joined(
        f'<g class="chart-bar"><title>{escape(bar.words)}</title>{_pieces(bar)}</g>'
        for bar in chart.bars
    )


def _pieces(bar: Bar) -> str:
    place = f'x="{bar.x}%" width="{bar.width}%"'
    return "".join(
        f'<rect {place} y="{y}" height="{height}"'
        f' fill="url(#pattern-{outcome})" class="piece piece-{outcome}"/>'
        for outcome, y, height in bar.pieces
    )


@register.simple_tag
def chart_dots(chart: Dots) -> SafeString:
    """The dots over the lines that join them."""
    strokes = (
        f'<line class="stroke stroke-{kind}" x1="{x1}%" y1="{y1}" x2="{x2}%" y2="{y2}"/>'
        for x1, y1, x2, y2, kind in chart.strokes
    )
    dots = (
        f'<g class="chart-dot"><title>{escape(words)}</title>'
        f'<svg x="{x}%" y="{ninetieth_y}" overflow="visible">'
        f'<path class="point-ninetieth" d="M0-4 4 3H-4z"/></svg>'
        f'<circle class="point-median" cx="{x}%" cy="{median_y}" r="3.5"/></g>'
        for x, median_y, ninetieth_y, words in chart.dots
    )
    return _joined(chain(strokes, dots))


@register.simple_tag
def bars_table(chart: Bars) -> SafeString:
    """A row for each time: how many came to each outcome."""
    return _joined(_row(name, (f"{count:,}" for count in counts)) for name, counts in chart.rows)


@register.simple_tag
def dots_table(chart: Dots) -> SafeString:
    """A row for each time: how many there were, and how long half and nine tenths of them took."""
    return _joined(
        _row(
            name,
            (
                f"{pace.count:,}",
                length_in_words(pace.median_ms),
                length_in_words(pace.ninetieth_ms),
            ),
        )
        for name, pace in chart.rows
    )


def _row(name: str, numbers: Iterable[str]) -> str:
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _joined(parts: Iterable[str]) -> SafeString:
    """Parts that were made of numbers and names of ours, and of what was escaped."""
    return mark_safe("".join(parts))  # noqa: S308
