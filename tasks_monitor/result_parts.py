"""One part of a tool's result as a file to keep. Pure.

The browser is never told a type that it could run: what is no picture and no sound of a known kind
goes as plain bytes.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, Final

from tasks_monitor.result_blocks import AUDIO_TYPES, IMAGE_TYPES

_BYTES: Final = "application/octet-stream"
_ENDINGS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/ogg": "ogg",
    "audio/webm": "weba",
    "audio/flac": "flac",
}
STRUCTURED: Final = "structured"


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of a part, the type they go by, and the end of their file's name."""

    content: bytes
    media_type: str
    ending: str


def part(result: Any, name: str) -> Part | None:
    """The part that an address names: "structured", or the number of a content block.

    None where there is none, or nothing in it that could be a file.
    """
    if not isinstance(result, dict):
        return None
    if name == STRUCTURED:
        return _structured(result)
    content = result.get("content")
    if not name.isascii() or not name.isdecimal() or len(name) > 9 or not isinstance(content, list):
        return None
    number = int(name)
    return _of_block(content[number]) if number < len(content) else None


def _structured(result: dict[str, Any]) -> Part | None:
    if "structuredContent" not in result:
        return None
    text = json.dumps(result["structuredContent"], ensure_ascii=False)
    return Part(_utf8(text), "application/json", "json")


def _of_block(block: Any) -> Part | None:
    if not isinstance(block, dict):
        return None
    inner = block.get("resource") if block.get("type") == "resource" else block
    if not isinstance(inner, dict):
        return None
    if isinstance(inner.get("text"), str):
        return Part(_utf8(inner["text"]), "text/plain; charset=utf-8", "txt")
    return _decoded(inner.get("blob", inner.get("data")), inner.get("mimeType"))


def _decoded(data: Any, media_type: Any) -> Part | None:
    if not isinstance(data, str):
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    known = isinstance(media_type, str) and media_type in IMAGE_TYPES | AUDIO_TYPES
    if not known:
        return Part(content, _BYTES, "bin")
    return Part(content, media_type, _ENDINGS[media_type])


def _utf8(text: str) -> bytes:
    """JSON may hold half a character; a file of text cannot."""
    return text.encode("utf-8", "replace")
