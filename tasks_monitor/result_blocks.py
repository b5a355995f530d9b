"""A tool's result as blocks to show, by kind. Pure; whatever a server sent comes out as something.

Source: MCP 2026-07-28, server/tools, "Tool Result". What has no kind of its own is shown as it is.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from tasks_monitor.json_tree import Node, tree

#: Shown inline; anything else that claims to be an image or sound is only named.
IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
AUDIO_TYPES: Final = frozenset(
    {"audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/webm", "audio/flac"}
)
#: A block longer than this is cut on the page; the whole result can be downloaded.
MAX_TEXT_CHARS: Final = 100_000
#: So is an address, a title or the name of a type.
MAX_NAME_CHARS: Final = 2_000
MAX_INLINE_BASE64_CHARS: Final = 4 * 1024 * 1024
#: So much of pictures and sound in all of a page.
MAX_PAGE_BASE64_CHARS: Final = 6 * 1024 * 1024
#: More blocks, or more text in all of them, are counted instead of shown.
MAX_BLOCKS: Final = 200
MAX_PAGE_CHARS: Final = 1_000_000

_KNOWN: Final = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a result. `kind` names the partial that shows it.

    kind: text, image, audio, link, tree, json, or binary. `uri` is a data: URI for image and audio,
    and the server's address for link. `cut`: only the beginning is here. `part` names what can be
    downloaded by itself (result_parts.part); empty: nothing can.
    """

    kind: str
    text: str = ""
    uri: str = ""
    title: str = ""
    note: str = ""
    cut: bool = False
    node: Node | None = None
    part: str = ""


def blocks(result: Any) -> list[Block]:
    """Everything in a CallToolResult, in the server's order, then what stands beside `content`.

    Of a result that is too much for a page, the beginning; the last block then says so.
    """
    if not isinstance(result, dict):
        return [_json(result, note="The result is not an object.")]
    shown = list(_fitting(_content(result.get("content"))))
    left_out = _count(result.get("content")) - len(shown)
    if left_out > 0:
        shown.append(Block("binary", text=f"{left_out:,} more blocks", cut=True))
    return [*shown, *_beside(result)]


def _fitting(found: Iterator[Block]) -> Iterator[Block]:
    chars = base64_chars = 0
    for block in islice(found, MAX_BLOCKS):
        chars += len(block.text) + len(block.title)
        if chars > MAX_PAGE_CHARS:
            return
        if block.kind in ("image", "audio"):
            base64_chars += len(block.uri)
            if base64_chars > MAX_PAGE_BASE64_CHARS:
                block = replace(block, kind="binary", uri="", text=block.note)
        yield block


def _count(content: Any) -> int:
    return len(content) if isinstance(content, list) else 0


def _content(content: Any) -> Iterator[Block]:
    if content is None:
        return
    if not isinstance(content, list):
        yield _json(content, note="The content is not a list.")
        return
    for number, part in enumerate(content):
        block = _block(part)
        yield replace(block, part=str(number)) if _is_file(part, block) else block


def _is_file(part: Any, block: Block) -> bool:
    """Whether it is worth a download of its own: short text is all on the page."""
    if block.kind == "text" and not block.cut and not _is_resource(part):
        return False
    carried = part.get("resource") if _is_resource(part) else part
    if not isinstance(carried, dict):
        return False
    return any(isinstance(carried.get(name), str) for name in ("text", "blob", "data"))


def _is_resource(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "resource"


def _beside(result: dict[str, Any]) -> Iterator[Block]:
    if "structuredContent" in result:
        yield _tree(result["structuredContent"])
    extra = {name: value for name, value in result.items() if name not in _KNOWN}
    if extra:
        yield _json(extra, title="Other members of the result")


def _block(part: Any) -> Block:
    if not isinstance(part, dict):
        return _json(part, note="A content block that is not an object.")
    kind = part.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    shown = reader(part) if reader else None
    return shown or _json(part, note="A kind of content this desk does not know.")


def _text_block(part: dict[str, Any]) -> Block | None:
    text = part.get("text")
    return _text(text) if isinstance(text, str) else None


def _image(part: dict[str, Any]) -> Block | None:
    return _media("image", IMAGE_TYPES, part.get("mimeType"), part.get("data"))


def _audio(part: dict[str, Any]) -> Block | None:
    return _media("audio", AUDIO_TYPES, part.get("mimeType"), part.get("data"))


def _link(part: dict[str, Any]) -> Block | None:
    uri = part.get("uri")
    if not isinstance(uri, str):
        return None
    title = next((part[k] for k in ("title", "name") if isinstance(part.get(k), str)), "")
    description = part.get("description")
    text = description if isinstance(description, str) else ""
    cut = len(uri) > MAX_NAME_CHARS or len(text) > MAX_TEXT_CHARS
    return Block(
        "link", text[:MAX_TEXT_CHARS], uri[:MAX_NAME_CHARS], title[:MAX_NAME_CHARS], cut=cut
    )


def _resource(part: dict[str, Any]) -> Block | None:
    inner = part.get("resource")
    if not isinstance(inner, dict):
        return None
    title = inner["uri"][:MAX_NAME_CHARS] if isinstance(inner.get("uri"), str) else ""
    kind, blob = inner.get("mimeType"), inner.get("blob")
    if isinstance(inner.get("text"), str):
        named = kind[:MAX_NAME_CHARS] if isinstance(kind, str) else ""
        return replace(_text(inner["text"], title=title), note=named)
    if isinstance(kind, str) and kind in AUDIO_TYPES:
        return _media("audio", AUDIO_TYPES, kind, blob, title)
    return _media("image", IMAGE_TYPES, kind, blob, title)


_READERS: Final = {
    "text": _text_block,
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _resource,
}


def _media(
    kind: str, allowed: frozenset[str], mime_type: Any, data: Any, title: str = ""
) -> Block | None:
    """Inline when the type is on the list and the data is base64; else named with its size."""
    if not isinstance(data, str):
        return None
    size = _decoded_bytes(data)
    if size is None:
        return None
    named = mime_type[:MAX_NAME_CHARS] if isinstance(mime_type, str) else "no type"
    if named in allowed and len(data) <= MAX_INLINE_BASE64_CHARS:
        return Block(kind, uri=f"data:{named};base64,{data}", title=title, note=named)
    return Block("binary", text=f"{named}, {size:,} bytes", title=title)


def _decoded_bytes(data: str) -> int | None:
    try:
        return len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return None


def _text(text: str, title: str = "") -> Block:
    return Block("text", text[:MAX_TEXT_CHARS], title=title, cut=len(text) > MAX_TEXT_CHARS)


def _tree(value: Any) -> Block:
    node = tree(value)
    title = "Structured content"
    return Block("tree", title=title, node=node, cut=node.is_cut, part="structured")


def _json(value: Any, *, title: str = "", note: str = "") -> Block:
    text, cut = beginning(value)
    return Block("json", text, title=title, note=note, cut=cut)


def beginning(value: Any) -> tuple[str, bool]:
    """A JSON value written out for people, and whether that is only the beginning of it.

    Piece by piece: indented, deep nesting is sixty times as long as it came.
    """
    pieces: list[str] = []
    chars = 0
    for piece in _INDENTED.iterencode(value):
        pieces.append(piece)
        chars += len(piece)
        if chars > MAX_TEXT_CHARS:
            break
    return "".join(pieces)[:MAX_TEXT_CHARS], chars > MAX_TEXT_CHARS


_INDENTED: Final = json.JSONEncoder(indent=2, ensure_ascii=False)
