"""Short ways to ask the form about one field."""

from typing import Any

from approvals.schema_form import Answer, Field, Refused, Unrenderable, answer, fields


def one_field(part: Any, *, required: bool = False, **root: Any) -> dict[str, Any]:
    """A schema with a single field, "f"."""
    needed = {"required": ["f"]} if required else {}
    return {"type": "object", "properties": {"f": part}} | needed | root


def sent(part: Any, posted: Any = None, *, required: bool = False, **root: Any) -> Any:
    """The content sent for what was posted in "f"; fails when it is not an Answer."""
    found = answer(one_field(part, required=required, **root), _submitted(posted))
    assert isinstance(found, Answer), found
    return found.content


def refused(part: Any, posted: Any = None, *, required: bool = False, **root: Any) -> str:
    """The sentence beside "f"; fails when the answer was not refused for that field alone."""
    found = answer(one_field(part, required=required, **root), _submitted(posted))
    assert isinstance(found, Refused), found
    assert list(found.errors) == ["f"]
    return found.errors["f"]


def unrenderable(part: Any, *, required: bool = False, **root: Any) -> str:
    """Why the form cannot be shown; fails when `answer` and `fields` do not agree on that."""
    schema = one_field(part, required=required, **root)
    found = answer(schema, {})
    assert isinstance(found, Unrenderable), found
    assert fields(schema) == found
    return found.reason


def shown(part: Any, *, required: bool = False, **root: Any) -> Field:
    """The field as a page renders it."""
    found = fields(one_field(part, required=required, **root))
    assert not isinstance(found, Unrenderable), found
    return found[0]


def _submitted(posted: Any) -> dict[str, Any]:
    return {} if posted is None else {"f": posted}
