"""How a JSON value of a server reaches a page: a tree of its words, every one of them inert."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from approvals.templatetags.theirs import revealed
from tasks_monitor.json_tree import Node

register = template.Library()

#: Open at first down to this depth.
_OPEN_DEPTH = 2
_BRACKETS = {"object": ("{", "}"), "array": ("[", "]")}


@register.simple_tag
def json_tree(node: Node) -> SafeString:
    """The value as nested lists that can be folded, without any script."""
    return _node(node, 0)


def _node(node: Node, depth: int) -> SafeString:
    name = format_html('<span class="tree-name">{}</span> ', revealed(node.name)) if depth else ""
    if node.kind not in _BRACKETS:
        return format_html('{}<span class="tree-{}">{}</span>', name, node.kind, _words(node))
    left, right = _BRACKETS[node.kind]
    if not node.size:
        return format_html('{}<span class="tree-size">{}{}</span>', name, left, right)
    members = format_html_join("", "<li>{}</li>", ((_node(m, depth + 1),) for m in node.members))
    return format_html(
        '<details{}><summary>{}<span class="tree-size">{}{}{}</span></summary>'
        "<ul>{}{}</ul></details>",
        mark_safe(" open") if depth < _OPEN_DEPTH else "",
        name,
        left,
        f"{node.size:,}",
        right,
        members,
        _left_out(node),
    )


def _words(node: Node) -> SafeString:
    return format_html("{}{}", revealed(node.text), "…" if node.cut else "")


def _left_out(node: Node) -> SafeString | str:
    if not node.left_out:
        return ""
    number = f"{node.left_out:,}"
    return format_html('<li class="text-secondary">{} more, not shown here</li>', number)
