"""In which parts two rules differ, in words: for the log, and for the preview of an import."""

from dataclasses import fields
from typing import Any, Final

from approvals.policy.model import Ask, Rule
from mcpdesk.mcp.jsontext import canonical

_PARTS: Final = {
    "name": "name",
    "effect": "effect",
    "server": "server",
    "tool": "tool",
    "starter": "started by",
    "conditions": "conditions",
    "claims": "claims",
    "repairs_need_two": "repairs",
}
_ASK: Final = {
    "audience": "who decides",
    "people": "who decides",
    "quorum": "how many",
    "four_eyes": "four eyes",
    "deadline_s": "deadline",
    "at_deadline": "at the deadline",
    "escalation": "escalation",
    "remember": "remembering",
}


def differences(before: Rule, after: Rule) -> list[str]:
    """The parts in which the rules differ, each once; empty: they say the same."""
    found = [word for part, word in _PARTS.items() if _differ(before, after, part)]
    found += [word for part, word in _ASK.items() if _differ(before.ask, after.ask, part)]
    if before.questions != after.questions:
        found.append("questions")
    return list(dict.fromkeys(found))


def _differ(before: Rule | Ask, after: Rule | Ask, part: str) -> bool:
    """As JSON: to Python 1, 1.0 and true are the same."""
    return _text(getattr(before, part)) != _text(getattr(after, part))


def _text(value: Any) -> str:
    return canonical(_plain(value))


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return [_plain(getattr(value, one.name)) for one in fields(value)]
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
