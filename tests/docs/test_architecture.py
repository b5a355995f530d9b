import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tasks_monitor.management.commands.diagram import drawing, with_drawing
from tasks_monitor.states import TERMINAL, TRANSITIONS, State
from tests.docs import pages

NAME = "docs/architecture.md"
ARCHITECTURE = pages.text_of(NAME)


def test_the_diagram_in_the_page_is_the_one_of_the_table() -> None:
    assert with_drawing(ARCHITECTURE) == ARCHITECTURE, f"./desk diagram --write {NAME}"


def test_the_diagram_has_every_transition_and_no_other() -> None:
    drawn = set()
    for before, after, endings in re.findall(r"(\w+) --> (\w+)(?:: (.+))?", drawing()):
        drawn |= {(before, end) for end in (endings.split(", ") if endings else [after])}
    allowed = {(before, after) for before, to in TRANSITIONS.items() for after in to}
    assert drawn == allowed


def test_every_state_without_a_way_out_stands_among_the_ended() -> None:
    ended = re.search(r"state ended \{(.+?)\}", drawing(), re.DOTALL)
    assert ended is not None
    assert set(ended[1].split()) == {str(state) for state in State if state in TERMINAL}


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing to draw in")
    with pytest.raises(CommandError, match="has no marks"):
        call_command("diagram", write=page)
    assert page.read_text() == "nothing to draw in"


def test_every_file_that_the_page_names_exists() -> None:
    folders = [
        "",
        "mcpdesk",
        "mcpdesk/notify",
        "tasks_monitor",
        "tasks_monitor/engine",
        "approvals",
    ]
    named = {name for name in pages.code_in(ARCHITECTURE) if re.fullmatch(r"[\w/]+\.(py|js)", name)}
    missing = [n for n in named if not any((pages.CHECKOUT / f / n).exists() for f in folders)]
    assert missing == []
