"""What the page of one item needs beside the server's words."""

from django import template

from approvals import folds

register = template.Library()


@register.filter
def argument_mark(number: int) -> str:
    """The mark of a folded argument, by its place in the list (from 1)."""
    return folds.argument(number)


@register.filter
def is_wordy(words: str) -> bool:
    """Whether a label or a help text is folded, so that the form stays a form."""
    return len(words) > folds.LONG_WORDS_CHARS
