"""Content encodings, with a bound on what comes out and not only on what goes in."""

import zlib
from typing import Protocol

ACCEPTED = "gzip, deflate"
"""The value of Accept-Encoding: exactly what `decoder` knows."""

_GZIP_OR_ZLIB, _RAW_DEFLATE = 47, -15


class BadEncoding(ValueError):
    """The body is not in the encoding it claims."""


class Decoder(Protocol):
    """Turns chunks of a response body into chunks of the message."""

    def decode(self, chunk: bytes, most: int) -> bytes:
        """At most `most` bytes; when they are that many, there may be more. Raises BadEncoding."""
        ...


def decoder(content_encoding: str) -> Decoder | None:
    """The decoder for a Content-Encoding header; None for an encoding we never asked for."""
    name = content_encoding.strip().lower()
    if name in ("", "identity"):
        return _Identity()
    if name in ("gzip", "x-gzip", "deflate"):
        return _Inflate(may_be_raw=name == "deflate")
    return None


class _Identity:
    def decode(self, chunk: bytes, most: int) -> bytes:
        return chunk[:most]


class _Inflate:
    """gzip (several members too) and deflate, which in the field is zlib or without a header."""

    def __init__(self, *, may_be_raw: bool) -> None:
        self._may_be_raw = may_be_raw
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._head = b""
        self._started = False

    def decode(self, chunk: bytes, most: int) -> bytes:
        try:
            return self._decode(chunk, most)
        except zlib.error:
            raise BadEncoding from None

    def _decode(self, chunk: bytes, most: int) -> bytes:
        chunk = self._begin(chunk)
        decoded = bytearray()
        while chunk and len(decoded) < most:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
            decoded += self._inflate.decompress(chunk, most - len(decoded))
            chunk = self._inflate.unused_data
        return bytes(decoded)

    def _begin(self, chunk: bytes) -> bytes:
        """Two bytes tell a zlib header (RFC 1950 section 2.2) from raw deflate."""
        if self._started or not self._may_be_raw:
            return chunk
        chunk = self._head + chunk
        if len(chunk) < 2:
            self._head = chunk
            return b""
        self._started = True
        if chunk[0] & 0x0F != 8 or int.from_bytes(chunk[:2]) % 31:
            self._inflate = zlib.decompressobj(_RAW_DEFLATE)
        return chunk
