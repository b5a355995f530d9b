"""Pieces that tool definitions are made of: properties, questions, images and sounds."""

import base64
import struct
import zlib
from typing import Any

from mcpdesk.simulator.protocol import Json

NONCE: Json = {
    "type": "string",
    "title": "Nonce",
    "description": "Mark of this operation: side effects are counted under it",
}


def text_field(**keywords: Any) -> Json:
    """A string property."""
    return {"type": "string", **keywords}


def integer_field(**keywords: Any) -> Json:
    """An integer property."""
    return {"type": "integer", **keywords}


def flag_field(**keywords: Any) -> Json:
    """A boolean property."""
    return {"type": "boolean", **keywords}


def choice_field(*values: str, **keywords: Any) -> Json:
    """A string property with a fixed set of values."""
    return {"type": "string", "enum": list(values), **keywords}


def form_of(message: str, schema: Json) -> Json:
    """An elicitation in form mode with a whole schema."""
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def form(message: str, /, **properties: Json) -> Json:
    """An elicitation in form mode in which every property is required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return form_of(message, schema)


def link(message: str, url: str) -> Json:
    """An elicitation in URL mode."""
    return {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": message, "url": url},
    }


def sampling(text: str) -> Json:
    """A sampling request, which the product does not offer to answer."""
    message = {"role": "user", "content": {"type": "text", "text": text}}
    params = {"messages": [message], "maxTokens": 100}
    return {"method": "sampling/createMessage", "params": params}


def roots() -> Json:
    """A roots request, which the product does not offer to answer."""
    return {"method": "roots/list", "params": {}}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, pixel: bytes) -> str:
    """A PNG of one colour (`pixel`: red, green, blue) as Base64."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + pixel * width) * height)
    image = _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + image).decode()


def image_block(data: str) -> Json:
    """A content block with a PNG."""
    return {"type": "image", "data": data, "mimeType": "image/png"}


def silence() -> Json:
    """A content block with a tenth of a second of silence as WAV."""
    samples = bytes(800)
    wave = struct.pack("<4sIHHIIHH4sI", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", len(samples))
    body = b"RIFF" + struct.pack("<I", 4 + len(wave) + len(samples)) + b"WAVE" + wave + samples
    return {"type": "audio", "data": base64.b64encode(body).decode(), "mimeType": "audio/wav"}
