"""The page that explains the API, made from its OpenAPI document: no script, nothing foreign."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe
from ninja import NinjaAPI

from mcpdesk.accounts.guard import MemberRequest, member_required


@require_safe
@member_required()
def docs(request: MemberRequest, document: NinjaAPI) -> HttpResponse:
    """Every route, with what it takes and answers; then every shape that these speak of."""
    described = document.get_openapi_schema()
    context = {
        "routes": [
            _route(path, method, operation)
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
        ],
        "shapes": [_shape(name, schema) for name, schema in _schemas(described)],
    }
    return render(request, "api/docs.html", context)


def _route(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    return {
        "method": method.upper(),
        "path": path,
        "id": operation["operationId"],
        "summary": _coded(operation["summary"]),
        "says": [_coded(part) for part in operation.get("description", "").split("\n\n")],
        "scope": operation["security"][0]["Bearer"][0],
        "parameters": [
            {
                **parameter,
                "type": _type(parameter["schema"]),
                "description": _coded(parameter.get("description", "")),
            }
            for parameter in operation["parameters"]
        ],
        "takes": _type(next(iter(content.values()))["schema"]) if content else "",
        "answers": [
            {"status": status, "shape": _answered(response), "says": response["description"]}
            for status, response in sorted(operation["responses"].items())
        ],
    }


def _coded(text: str) -> SafeString:
    """Escaped, with what stands in `backticks` as code."""
    pieces = (
        format_html("<code>{}</code>", piece) if number % 2 else escape(piece)
        for number, piece in enumerate(text.split("`"))
    )
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _answered(response: dict[str, Any]) -> str:
    content = next(iter(response.get("content", {}).values()), None)
    return _type(content["schema"]) if content else ""


def _schemas(described: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return sorted(described["components"]["schemas"].items())


def _shape(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    return {
        "name": name,
        "description": _coded(schema.get("description", "")),
        "values": ", ".join(map(str, schema.get("enum", []))),
        "fields": [
            {
                "name": field,
                "type": _type(of),
                "required": field in required,
                "description": _coded(of.get("description", "")),
            }
            for field, of in schema.get("properties", {}).items()
        ],
    }


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words; another shape by its name."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    for several in ("anyOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[several]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "const" in schema or "enum" in schema:
        return ", ".join(map(str, schema.get("enum", [schema.get("const")])))
    return str(schema.get("format") or schema.get("type") or "any JSON")
