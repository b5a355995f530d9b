"""Results by kind: whatever a server sent comes out as something, and nothing is lost."""

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_monitor.json_tree import tree
from tasks_monitor.result_blocks import (
    MAX_BLOCKS,
    MAX_NAME_CHARS,
    MAX_PAGE_BASE64_CHARS,
    MAX_PAGE_CHARS,
    MAX_TEXT_CHARS,
    Block,
    blocks,
)

PNG = base64.b64encode(b"\x89PNG....").decode()


def one(part: Any) -> Block:
    (block,) = blocks({"content": [part]})
    return block


def test_text_is_text() -> None:
    assert one({"type": "text", "text": "<b>"}) == Block("text", "<b>")


def test_an_empty_text_is_still_a_block() -> None:
    assert one({"type": "text", "text": ""}) == Block("text")


@pytest.mark.parametrize("mime_type", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_an_image_of_a_listed_type_is_shown(mime_type: str) -> None:
    block = one({"type": "image", "mimeType": mime_type, "data": PNG})
    assert (block.kind, block.uri) == ("image", f"data:{mime_type};base64,{PNG}")
    assert block.part == "0"


def test_a_page_holds_only_so_much_of_pictures_and_the_rest_can_be_downloaded() -> None:
    big = "A" * (MAX_PAGE_BASE64_CHARS // 2)
    shown = blocks({"content": [{"type": "image", "mimeType": "image/png", "data": big}] * 3})
    assert [block.kind for block in shown] == ["image", "binary", "binary"]
    assert [block.part for block in shown] == ["0", "1", "2"]


def test_short_text_is_all_on_the_page_and_long_text_a_file_beside_it() -> None:
    assert one({"type": "text", "text": "x"}).part == ""
    assert one({"type": "text", "text": "x" * (MAX_TEXT_CHARS + 1)}).part == "0"


@pytest.mark.parametrize("mime_type", ["image/svg+xml", "text/html", "IMAGE/PNG", None, 7])
def test_an_image_of_any_other_type_is_named_and_not_shown(mime_type: Any) -> None:
    block = one({"type": "image", "mimeType": mime_type, "data": PNG})
    assert (block.kind, block.uri) == ("binary", "")
    assert "8 bytes" in block.text


def test_audio_of_a_listed_type_can_be_played() -> None:
    assert one({"type": "audio", "mimeType": "audio/wav", "data": PNG}).kind == "audio"


def test_a_resource_link_keeps_address_and_title() -> None:
    part = {"type": "resource_link", "uri": "file:///x", "name": "x", "description": "what"}
    assert one(part) == Block("link", "what", "file:///x", "x")


def test_an_embedded_text_resource_is_text_under_its_address() -> None:
    part = {"type": "resource", "resource": {"uri": "file:///x", "text": "inside"}}
    assert one(part) == Block("text", "inside", title="file:///x", part="0")


def test_an_embedded_image_is_an_image() -> None:
    inner = {"uri": "file:///x", "mimeType": "image/png", "blob": PNG}
    assert one({"type": "resource", "resource": inner}).kind == "image"


def test_structured_content_stands_beside_the_content() -> None:
    shown = blocks({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 0}})
    assert [block.kind for block in shown] == ["text", "tree"]
    assert shown[1].node == tree({"n": 0})
    assert shown[1].part == "structured"


def test_a_structured_content_of_null_is_shown_as_null() -> None:
    (block,) = blocks({"content": [], "structuredContent": None})
    assert block.node is not None
    assert block.node.text == "null"


def test_members_nobody_knows_are_shown_too() -> None:
    (block,) = blocks({"content": [], "isError": False, "vendor": {"x": 1}})
    assert json.loads(block.text) == {"vendor": {"x": 1}}


@pytest.mark.parametrize(
    "part",
    [
        7,
        None,
        {"type": "hologram", "x": 1},
        {"type": "text"},
        {"type": ["text"]},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        {"type": "image", "data": 5},
        {"type": "resource", "resource": "x"},
        {"type": "resource_link"},
    ],
)
def test_what_is_unknown_or_malformed_is_shown_as_it_is(part: Any) -> None:
    block = one(part)
    assert block.kind == "json"
    assert json.loads(block.text) == part


@pytest.mark.parametrize("result", [None, 7, "x", []])
def test_a_result_that_is_no_object_is_shown_as_it_is(result: Any) -> None:
    (block,) = blocks(result)
    assert json.loads(block.text) == result


def test_a_long_text_is_cut_and_says_so() -> None:
    block = one({"type": "text", "text": "x" * (MAX_TEXT_CHARS + 1)})
    assert (len(block.text), block.cut) == (MAX_TEXT_CHARS, True)
    assert not one({"type": "text", "text": "x" * MAX_TEXT_CHARS}).cut


def test_more_blocks_than_a_page_holds_are_counted() -> None:
    shown = blocks({"content": [{"type": "text", "text": "x"}] * 250_000, "structuredContent": 1})
    assert len(shown) == MAX_BLOCKS + 2
    assert shown[-2] == Block("binary", f"{250_000 - MAX_BLOCKS:,} more blocks", cut=True)
    assert shown[-1].title == "Structured content"


def test_more_text_than_a_page_holds_is_counted() -> None:
    shown = blocks({"content": [{"type": "text", "text": "x" * MAX_TEXT_CHARS}] * 80})
    assert sum(len(block.text) for block in shown) < MAX_PAGE_CHARS + 100
    assert shown[-1].text == f"{80 - MAX_PAGE_CHARS // MAX_TEXT_CHARS} more blocks"


def test_deep_nesting_is_written_out_only_as_far_as_it_is_shown() -> None:
    """Indented, these 8 MiB are 300 MB."""
    deep: Any = [1] * 2_000_000
    for _ in range(60):
        deep = [deep]
    started = time.thread_time()
    (block,) = blocks({"content": [], "other": deep})
    assert (len(block.text), block.cut) == (MAX_TEXT_CHARS, True)
    assert time.thread_time() - started < 1


def test_an_endless_address_or_type_is_cut() -> None:
    link = one({"type": "resource_link", "uri": "x" * 10**6, "name": "x" * 10**6})
    assert (len(link.uri), len(link.title), link.cut) == (MAX_NAME_CHARS, MAX_NAME_CHARS, True)
    media = one({"type": "image", "mimeType": "x" * 10**6, "data": PNG})
    assert len(media.text) < MAX_NAME_CHARS + 100


@pytest.mark.parametrize("kind", [[], {}, ["audio/wav"], 7, None])
def test_an_embedded_resource_of_no_readable_type_is_named(kind: Any) -> None:
    part = {"type": "resource", "resource": {"uri": "x", "mimeType": kind, "blob": PNG}}
    assert one(part).kind == "binary"


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
CONTENT = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "x"])},
    optional={
        "text": ANY_JSON,
        "data": ANY_JSON,
        "mimeType": ANY_JSON,
        "uri": ANY_JSON,
        "resource": ANY_JSON | st.fixed_dictionaries({"mimeType": ANY_JSON, "blob": st.just("")}),
    },
)


@given(st.fixed_dictionaries({"content": st.lists(CONTENT)}) | ANY_JSON)
def test_any_result_becomes_blocks_without_raising(result: Any) -> None:
    for block in blocks(result):
        assert block.kind in {"text", "image", "audio", "link", "json", "tree", "binary"}
