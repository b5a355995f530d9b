"""The list that an item was opened from, kept in the addresses of its page."""

from typing import Any

from django import template

from approvals.filters import Chosen

register = template.Library()


@register.simple_tag(takes_context=True)
def kept_list(context: dict[str, Any]) -> str:
    """The query ("?server=...") of the list that this page was opened from; empty: "For me"."""
    return Chosen.read(context["request"].GET).suffix
