import re
from pathlib import Path

from mcpdesk.simulator.faults.catalog import FAULTS
from mcpdesk.simulator.tools.forms import QUESTIONS
from mcpdesk.simulator.tools.registry import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text()
CODE = re.compile(r"`([^`]+)`")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose head begins with `heading`."""
    table = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_table_of_tools_says_what_the_code_says() -> None:
    documented = [(row[0], row[1], CODE.findall(row[2].strip("| "))) for row in rows("tool")]
    assert documented == [
        (f"`{tool.name}`", tool.description, [n for n in tool.properties if n != "nonce"])
        for tool in TOOLS.values()
    ]


def test_every_fault_has_its_place_in_the_table_of_faults() -> None:
    named = {name for row in rows("the server") for name in CODE.findall(row[1])}
    assert set(FAULTS) - named == set()
    options = {name for name in named if name.startswith(("--", "POST "))}
    assert named - options - set(FAULTS) - set(TOOLS) == set()


def test_every_question_is_listed() -> None:
    listed = set(CODE.findall(PAGE.split("by name.", 1)[1].split("## Strictness")[0]))
    assert listed == set(QUESTIONS)
