"""Header rules of Streamable HTTP (spec: basic/transports/streamable-http, Request Metadata)."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from mcpdesk.simulator.protocol import HEADER_MISMATCH, Json, RpcError

SENTINEL = re.compile(r"=\?base64\?(?P<encoded>[A-Za-z0-9+/]*={0,2})\?=")
VISIBLE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?|")

NAME_FIELDS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Which parameter `Mcp-Name` mirrors, by method."""


def mismatch(text: str) -> RpcError:
    """-32020 with the reason."""
    return RpcError(HEADER_MISMATCH, f"Header mismatch: {text}")


def decode(header: str, value: str) -> str:
    """The text that a header value stands for, after the Base64 form is undone."""
    if found := SENTINEL.fullmatch(value):
        try:
            return base64.b64decode(found["encoded"], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise mismatch(f"{header} is not valid Base64 of UTF-8") from None
    if not VISIBLE.fullmatch(value):
        raise mismatch(f"{header} contains characters that must be encoded")
    return value


def check_routing(headers: Mapping[str, str], method: str, params: Json) -> None:
    """Refuse a request whose `Mcp-Method` or `Mcp-Name` is absent or says something else."""
    if headers.get("mcp-method") != method:
        raise mismatch(f"Mcp-Method is {headers.get('mcp-method')!r}, the body says {method!r}")
    field = NAME_FIELDS.get(method)
    if field is None:
        return
    given = headers.get("mcp-name")
    if given is None:
        raise mismatch("Mcp-Name is missing")
    if decode("Mcp-Name", given) != params.get(field):
        raise mismatch(f"Mcp-Name does not match params.{field}")


def annotated(schema: Json) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(header name, path of properties, JSON type) of every `x-mcp-header` in a schema."""
    for name, prop in schema.get("properties", {}).items():
        if header := prop.get("x-mcp-header"):
            yield header, (name,), prop.get("type", "")
        for inner, path, kind in annotated(prop):
            yield inner, (name, *path), kind


def _at(arguments: Json, path: tuple[str, ...]) -> object:
    value: object = arguments
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _same(kind: str, header: str, value: object) -> bool:
    if kind == "boolean":
        return header == ("true" if value is True else "false")
    if kind == "integer":
        try:
            return float(header) == value
        except ValueError:
            return False
    return header == value


def check_parameters(headers: Mapping[str, str], schema: Json, arguments: Json) -> None:
    """Refuse a call whose `Mcp-Param-*` headers do not say what its arguments say."""
    for name, path, kind in annotated(schema):
        value, given = _at(arguments, path), headers.get(f"mcp-param-{name.lower()}")
        if value is None:
            if given is not None:
                raise mismatch(f"Mcp-Param-{name} was sent without an argument for it")
        elif given is None:
            raise mismatch(f"Mcp-Param-{name} is missing")
        elif not _same(kind, decode(f"Mcp-Param-{name}", given), value):
            raise mismatch(f"Mcp-Param-{name} does not match the argument")
