import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from mcpdesk.embedded.locations import DEFAULT_BIND
from mcpdesk.embedded.processes import SIMULATOR
from mcpdesk.web.demo import SIGN_INS
from tests.docs import pages

README = pages.text_of("README.md")
IMAGES = sorted((pages.CHECKOUT / "docs" / "images").iterdir())
MAX_IMAGE_BYTES = 200 * 1024

named = pytest.mark.parametrize("document", pages.PAGES, ids=lambda document: document.name)


@named
def test_every_link_within_the_checkout_leads_somewhere(document: Path) -> None:
    broken = [target for target in pages.links(document) if not _resolves(document, target)]
    assert broken == []


def _resolves(page: Path, target: str) -> bool:
    place, _, anchor = target.partition("#")
    path = (page.parent / place).resolve() if place else page
    inside = path.is_relative_to(pages.CHECKOUT)
    if not inside or not path.exists():
        return False
    return not anchor or anchor in pages.anchors(path)


@named
def test_every_desk_command_that_is_named_exists(document: Path) -> None:
    existing = _words_of_the_script() | set(get_commands())
    assert pages.commands(document.read_text("utf-8")) - existing == set()


def _words_of_the_script() -> set[str]:
    script = pages.text_of("desk")
    return set(re.findall(r"^    ([a-z]+)\)$", script, re.MULTILINE)) | {"help"}


def test_the_first_commands_of_the_readme_are_the_demo_and_the_tests() -> None:
    first = README.split("```sh\n", 1)[1].split("```", 1)[0]
    assert first.splitlines() == ["./desk demo", "./desk test"]


def test_the_readme_says_where_the_demo_is_and_whom_to_sign_in_as() -> None:
    printed = [f"  {role:<10} {email:<24} {secret}" for role, email, secret in SIGN_INS]
    assert "\n".join([f"mcpdesk is ready: http://{DEFAULT_BIND}", *printed]) in README


def test_the_default_addresses_are_those_of_the_code() -> None:
    text = pages.text_of("docs/operations.md")
    assert f"http://{DEFAULT_BIND}" in text
    assert f"http://{SIMULATOR}/mcp" in text


def test_the_help_of_the_script_names_commands_that_exist_and_those_of_the_readme() -> None:
    script = [shutil.which("sh") or "sh", str(pages.CHECKOUT / "desk")]
    shown = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert {"demo", "up", "test", "call", "help"} <= pages.commands(shown)
    assert pages.commands(shown) <= _words_of_the_script() | set(get_commands())


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_a_picture_is_small_and_shown_somewhere(image: Path) -> None:
    shown = {
        (page.parent / target).resolve()
        for page in pages.PAGES
        for target in pages.links(page)
        if target.endswith(".png")
    }
    assert image.stat().st_size < MAX_IMAGE_BYTES
    assert image in shown
