"""Makes static/css/dark-without-js.css: `python -m tests.web.dark_rules`.

Dark is an attribute that a script sets. Without scripts a page follows the system by this sheet:
every rule for dark of Tabler and of ours, as it stands there, for a root without scripts.
"""

import re
from pathlib import Path

STATIC = Path(__file__).resolve().parents[2] / "static"
SHEET = STATIC / "css" / "dark-without-js.css"
TABLER = STATIC / "vendor" / "tabler" / "tabler.min.css"
ROOT = "html:not(.has-js)"
HEADER = (
    "/* Made by `python -m tests.web.dark_rules` from the rules for dark. Not edited by hand. */\n"
)

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TABLERS = re.compile(r"^\[data-bs-theme=dark\](?: \.form-select)?$")
_PAPER = "color-scheme:light"  # a rule for printing
_OURS = '[data-bs-theme="dark"]'


def rules() -> str:
    """The whole sheet, as it should be."""
    ours = sorted(path for path in (STATIC / "css").glob("*.css") if path != SHEET)
    found = [*_of_tabler(TABLER.read_text()), *(one for path in ours for one in _of_ours(path))]
    return HEADER + "\n".join(found) + "\n"


def _of_tabler(text: str) -> list[str]:
    """Its variables, and the arrow of a list; what else it has for dark the desk does not use."""
    made = []
    for selectors, body in _RULE.findall(text):
        mine = next((one for one in selectors.split(",") if _TABLERS.match(one)), None)
        if mine is not None and _PAPER not in body:
            made.append(f"{mine.replace('[data-bs-theme=dark]', ROOT)} {{ {body} }}")
    return made


def _of_ours(path: Path) -> list[str]:
    made = []
    for selectors, body in _RULE.findall(_COMMENT.sub("", path.read_text())):
        if _OURS in selectors:
            made.append(f"{selectors.strip().replace(_OURS, ROOT)} {{{body}}}")
    return made


if __name__ == "__main__":
    SHEET.write_text(rules())
