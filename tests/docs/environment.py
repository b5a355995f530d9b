"""Which environment variables the product reads, found in its source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import CHECKOUT

PACKAGES = ("mcpdesk", "tasks_monitor", "approvals")
_IN_SHELL = re.compile(r"\$\{([A-Z][A-Z0-9_]*)")


def read_by_python() -> set[str]:
    """Names read with django-environ's `env` or from `os.environ`, in the product's packages."""
    files = [path for name in PACKAGES for path in sorted((CHECKOUT / name).rglob("*.py"))]
    return {name for path in files for name in _names_in(ast.parse(path.read_text("utf-8")))}


def read_by_shell(name: str) -> set[str]:
    """Names that a shell script or a compose file expands."""
    return set(_IN_SHELL.findall((CHECKOUT / name).read_text("utf-8")))


def defaults_in(path: Path) -> dict[str, object]:
    """The constant default of each `env.kind(NAME, default=constant)` of a settings file."""
    found: dict[str, object] = {}
    for call in _calls(ast.parse(path.read_text("utf-8"))):
        default = next((k.value for k in call.keywords if k.arg == "default"), None)
        if _is_env(call.func) and isinstance(default, ast.Constant):
            found.update(dict.fromkeys(_strings(call.args[0], {}), default.value))
    return found


def _names_in(module: ast.Module) -> Iterator[str]:
    constants = _constants(module)
    for call in _calls(module):
        reads = _is_env(call.func) or ast.unparse(call.func) == "os.environ.get"
        if reads and call.args:
            yield from _strings(call.args[0], constants)
    for node in ast.walk(module):
        if isinstance(node, ast.Compare) and _is_environment(node.comparators[0]):
            yield from _strings(node.left, constants)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            yield from _strings(node.slice, constants)


def _calls(module: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(module) if isinstance(node, ast.Call)]


def _constants(module: ast.Module) -> dict[str, str]:
    """Names that are given a string somewhere in the module."""
    return {
        target.id: node.value.value
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def _is_env(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id == "env" and function.attr != "db_url_config"


def _is_environment(node: ast.expr) -> bool:
    return ast.unparse(node) in {"env", "os.environ", "os.environ.keys()"}


def _strings(node: ast.expr, constants: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name) and node.id in constants:
        yield constants[node.id]
    elif isinstance(node, ast.Set | ast.Tuple | ast.List):
        for element in node.elts:
            yield from _strings(element, constants)
