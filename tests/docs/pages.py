"""The documentation as data: pages, tables, links, headings, commands."""

import re
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted([*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").glob("*.md")])

_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|\bsrc=\"([^\"]+)\"")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"\./desk ([a-z_]+(?:\|[a-z_]+)*)")


def text_of(name: str) -> str:
    """A page by its path in the checkout."""
    return (CHECKOUT / name).read_text("utf-8")


def tables(text: str, head: str) -> list[list[str]]:
    """The rows of every table whose first heading is `head`, each as its cells."""
    return [row for table in text.split(f"| {head} |")[1:] for row in _rows(table)]


def _rows(table: str) -> list[list[str]]:
    lines = table.split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def code_in(text: str) -> list[str]:
    """What stands in backticks."""
    return _CODE.findall(text)


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links and images that stay within the checkout."""
    for target in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        where = target[0] or target[1]
        if "://" not in where and not where.startswith("mailto:"):
            yield where


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    lines = _FENCE.sub("", page.read_text("utf-8")).splitlines()
    headings = [line.lstrip("#").strip() for line in lines if re.match(r"#{1,6} ", line)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(text: str) -> set[str]:
    """The names of every `./desk NAME`; `./desk healthy web|worker` names one command."""
    return {name.split("|")[0] for name in _COMMAND.findall(text)}
