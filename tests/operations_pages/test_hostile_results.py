"""Whatever a result holds, the page shows it as words: nothing runs, loads, or reorders ours."""

import base64
import re
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from mcpdesk.accounts.models import Membership
from tasks_monitor.models import Operation, Payload, Server
from tasks_monitor.states import State
from tests.factories import NOW, OperationFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

HTML = '<img src=x onerror="alert(1)"><script>alert(1)</script></pre></div>'
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()
BIDI = "safe\u202egnp.exe"


@pytest.fixture
def client(operator: Membership) -> Client:
    return signed_in(operator)


def page_of(
    client: Client, server: Server, result: Any, notes: list[str] | None = None, **columns: Any
) -> str:
    ended = {"state": State.COMPLETED, "finished_at": NOW}
    operation: Operation = OperationFactory(server=server, **{**ended, **columns})
    Payload.objects.filter(pk=operation.pk).update(result=result, notes=notes)
    return client.get(f"/operations/{operation.pk}/").content.decode()


EVERYWHERE = [
    {"content": [{"type": "text", "text": HTML}]},
    {"content": [{"type": "resource_link", "uri": f"javascript:{HTML}", "name": HTML}]},
    {"content": [{"type": "resource", "resource": {"uri": HTML, "text": HTML, "mimeType": HTML}}]},
    {"content": [{"type": "image", "mimeType": f'image/png"{HTML}', "data": "AAAA"}]},
    {"content": [{"type": HTML, "x": HTML}]},
    {"content": [], "structuredContent": {HTML: [HTML, {HTML: HTML}]}},
    {"content": [], HTML: HTML},
]


@pytest.mark.parametrize("result", EVERYWHERE)
def test_markup_is_words_wherever_it_stands(client: Client, server: Server, result: Any) -> None:
    shown = page_of(client, server, result)
    assert "alert(1)" in shown
    assert "<script>" not in shown
    assert "<img src=x" not in shown
    assert not re.search(r'(href|src)="javascript:', shown)


def test_an_address_of_the_server_is_no_link(client: Client, server: Server) -> None:
    link = {"type": "resource_link", "uri": "https://evil.example/", "name": "click"}
    assert 'href="https://evil.example' not in page_of(client, server, {"content": [link]})


@pytest.mark.parametrize("kind", ["image", "resource"])
def test_an_svg_is_named_and_never_shown(client: Client, server: Server, kind: str) -> None:
    inner = {"uri": "x", "mimeType": "image/svg+xml", "blob": SVG, "data": SVG}
    part = {"type": kind, "resource": inner} if kind == "resource" else {"type": kind, **inner}
    shown = page_of(client, server, {"content": [part]})
    assert "image/svg+xml, " in shown
    assert "<img" not in shown
    assert SVG not in shown
    assert "/result/0/" in shown


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": BIDI}]},
        {"content": [], "structuredContent": {BIDI: BIDI}},
        {"content": [{"type": "x", "y": BIDI}]},
    ],
)
def test_what_turns_the_direction_of_text_is_written_out(
    client: Client, server: Server, result: Any
) -> None:
    shown = page_of(client, server, result)
    assert "\u202e" not in shown
    assert 'class="unseen"' in shown


def test_huge_base64_is_not_in_the_page(client: Client, server: Server) -> None:
    huge = {"type": "image", "mimeType": "image/png", "data": "A" * (6 * 1024 * 1024)}
    shown = page_of(client, server, {"content": [huge]})
    assert len(shown) < 100_000
    assert "image/png, 4,718,592 bytes" in shown


def test_a_result_that_does_not_fit_its_schema_says_so_beside_it(
    client: Client, server: Server
) -> None:
    result = {"content": [], "structuredContent": {"n": 1}}
    odd = page_of(client, server, result, notes=["output_mismatch"])
    assert "does not fit the output schema that the tool gave" in odd
    assert "does not fit" not in page_of(client, server, result)


def test_a_tree_folds_without_a_script_and_its_tools_need_one(
    client: Client, server: Server
) -> None:
    shown = page_of(client, server, {"content": [], "structuredContent": {"a": {"b": {"c": 1}}}})
    assert shown.count("<details open><summary>") == 2
    assert '<div class="tree-tools" data-with-js hidden>' in shown
    assert '<span class="tree-name">c</span> <span class="tree-number">1</span>' in shown


def _words(shown: str) -> str:
    return " ".join(strip_tags(shown).split())


def test_the_tools_own_error_failed_lost_and_unknown_look_and_read_apart(
    client: Client, server: Server
) -> None:
    said = {"content": [{"type": "text", "text": "disk full"}], "isError": True}
    pages = {
        "tool-error": page_of(client, server, said, is_error=True),
        "failed": page_of(client, server, None, state=State.FAILED),
        "lost": page_of(client, server, None, state=State.LOST, finished_at=None),
        "unknown": page_of(client, server, None, state=State.UNKNOWN, finished_at=None),
        "stuck": page_of(client, server, None, state=State.STUCK, finished_at=None, task_hash="t"),
        "completed": page_of(client, server, {"content": []}),
    }
    for mark, shown in pages.items():
        assert re.findall(r'class="mark mark-([a-z-]+)"', shown) == [mark]
    assert "the tool says that it did not do what was asked" in _words(pages["tool-error"])
    assert "forgot the task: the work may be done, half done, or not done" in _words(pages["lost"])
    assert "No answer to the call could be read" in _words(pages["unknown"])
    assert "does not go on with it" in _words(pages["stuck"])
    assert len({_words(shown) for shown in pages.values()}) == len(pages)
