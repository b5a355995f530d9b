"""A team's policy as a file: YAML that people write, keep under version control, and read.

Only what JSON has is read: no dates, no yes and no, no octal numbers, no tags, no anchors and
aliases. Text is written so that every reader of YAML takes it for text.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import yaml

MAX_BYTES: Final = 256 * 1024
MAX_NODES: Final = 40_000
MAX_DEPTH: Final = 40
FORMAT: Final = 1

#: How JSON writes what is no text (RFC 8259); everything else is text.
_PLAIN: Final = (
    ("tag:yaml.org,2002:null", re.compile(r"^null$"), ["n"]),
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), ["t", "f"]),
    ("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$"),
        list("-0123456789"),
    ),
)
#: No page could show one, nor the sentence that repeats it (Unicode 17, D72).
_HALF: Final = re.compile("[\ud800-\udfff]")


class BadFile(ValueError):
    """The file cannot be read as a policy; `sentence` says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class _Loader(yaml.SafeLoader):
    """Reads what _Dumper writes, and refuses names that come twice."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise BadFile(f"Line {_line(key_node)}: a name must be text.")
            if key in found:
                raise BadFile(f"Line {_line(key_node)}: “{key[:60]}” stands here twice.")
            found[key] = self.construct_object(value_node, deep=True)
        return found


class _Dumper(yaml.SafeDumper):
    """Writes plain only what _Loader reads as the same."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        # list items stand further in than the name they belong to
        super().increase_indent(flow, False)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """In quotes where something stands in it that is hard to see, or that others read as no text.

    (YAML 1.1 takes no for false, 012 for ten and 2026-01-01 for a date.)
    """
    elsewhere = yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], [])
    style = "'" if any(pattern.match(text) for _, pattern in elsewhere) else None
    style = style if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _construct_map(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    return loader.construct_mapping(node)


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(node.value)


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(node.value)


_Dumper.add_representer(str, _represent_text)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
for _tag, _pattern, _first in _PLAIN:
    _Loader.add_implicit_resolver(_tag, _pattern, _first)
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def write(rules: list[dict[str, Any]], heading: Iterable[str] = ()) -> str:
    """The rules as a file. `heading`: lines that stand above it as comments."""
    comments = "".join(f"# {' '.join(line.split())}\n" for line in heading)
    body = yaml.dump(
        {"mcpdesk_policy": FORMAT, "rules": rules},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
    return comments + body


def read(text: str) -> list[Any]:
    """What stands under `rules` of a file: a list of anything. Raises BadFile.

    The work is bounded: by the file's size, how deep it nests, how much stands in it.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise BadFile(f"The file is larger than {MAX_BYTES // 1024} KiB.")
    try:
        _check(text)
        whole = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader that knows even less
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"Line {mark.line + 1}" if mark else "The file"
        raise BadFile(f"{where}: this is not YAML ({error.problem}).") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile("The file is not text in YAML.") from None
    return _rules(whole)


def _check(text: str) -> None:
    """Refuse what unfolds to more than it looks, before anything is built of it."""
    depth = nodes = documents = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise BadFile(f"Line {_line(event)}: anchors and aliases (& and *) are not taken.")
        if getattr(event, "tag", None):
            raise BadFile(f"Line {_line(event)}: tags (!) are not taken.")
        if isinstance(event, yaml.ScalarEvent) and _HALF.search(event.value):
            raise BadFile(f"Line {_line(event)}: half a character (a surrogate) is no text.")
        documents += isinstance(event, yaml.DocumentStartEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise BadFile(f"Line {_line(event)}: the file holds or nests more than a policy can.")
        if documents > 1:
            raise BadFile(f"Line {_line(event)}: a file holds one policy.")


def _line(event: Any) -> int:
    mark = event.start_mark
    return int(mark.line) + 1 if mark else 1


def _rules(whole: Any) -> list[Any]:
    if not isinstance(whole, dict) or "mcpdesk_policy" not in whole:
        raise BadFile("This is not a policy: the file begins with “mcpdesk_policy: 1”.")
    if whole["mcpdesk_policy"] != FORMAT or isinstance(whole["mcpdesk_policy"], bool):
        raise BadFile(f"This desk reads policies of format {FORMAT} only.")
    if whole.keys() - {"mcpdesk_policy", "rules"}:
        raise BadFile("A policy has “rules” and nothing else beside its format.")
    if not isinstance(whole.get("rules"), list):
        raise BadFile("Under “rules” stands a list of rules; an empty one is written [].")
    return list(whole["rules"])


def with_people(rule: dict[str, Any], turn: Callable[[Any], Any]) -> dict[str, Any]:
    """A copy of a rule with each list of people in it turned: ids to addresses, or back."""
    turned = dict(rule)
    for part in ("starter", "ask", "questions"):
        if isinstance(turned.get(part), dict):
            turned[part] = _with_people(turned[part], turn)
    return turned


def _with_people(part: dict[str, Any], turn: Callable[[Any], Any]) -> dict[str, Any]:
    turned = dict(part)
    if "people" in turned:
        turned["people"] = turn(turned["people"])
    if isinstance(turned.get("escalation"), list):
        turned["escalation"] = [
            _with_people(step, turn) if isinstance(step, dict) else step
            for step in turned["escalation"]
        ]
    return turned
