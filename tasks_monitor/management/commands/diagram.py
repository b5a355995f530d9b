"""`./desk diagram`: the states of an operation as a drawing, made from the transition table."""

from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tasks_monitor.states import TERMINAL, TRANSITIONS, State

BEGIN: Final = "<!-- drawn by ./desk diagram: begin -->"
END: Final = "<!-- drawn by ./desk diagram: end -->"


class Command(BaseCommand):
    help = "Print the state diagram (Mermaid), or draw it anew in a page that has its marks."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--write", type=Path, metavar="PAGE", help="docs/architecture.md")

    def handle(self, *args: Any, **options: Any) -> None:
        page: Path | None = options["write"]
        if page is None:
            self.stdout.write(drawing())
            return
        try:
            page.write_text(with_drawing(page.read_text("utf-8")), "utf-8")
        except ValueError as error:
            raise CommandError(f"{page} {error}") from error


def drawing() -> str:
    """The table as a Mermaid state diagram; states without a way out stand together."""
    lines = ["stateDiagram-v2", "    [*] --> ready: started", "    [*] --> working: adopted"]
    lines.append("    state ended {")
    lines += [f"        {state}" for state in State if state in TERMINAL]
    lines.append("    }")
    for before in State:
        after = TRANSITIONS[before]
        lines += [f"    {before} --> {state}" for state in State if state in after - TERMINAL]
        endings = [str(state) for state in State if state in after & TERMINAL]
        if endings:
            lines.append(f"    {before} --> ended: {', '.join(endings)}")
    return "\n".join(lines)


def with_drawing(text: str) -> str:
    """A page's text with the drawing between its marks. Raises ValueError where there are none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("has no marks for the diagram")
    return f"{before}{BEGIN}\n```mermaid\n{drawing()}\n```\n{END}{after}"
