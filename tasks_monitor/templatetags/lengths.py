"""Lengths of time in words, for templates."""

from django import template

from tasks_monitor.lengths import length_in_words

register = template.Library()


@register.filter
def time_length(ms: float) -> str:
    """A length of time (ms) in words ("1 min 20 s")."""
    return length_in_words(ms)
