"""Content encodings, bounded by what comes out."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.decoding import ACCEPTED, BadEncoding, Decoder, decoder


def _raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    " GZIP ": gzip.compress,
    "deflate": zlib.compress,
}


def _decoder(name: str) -> Decoder:
    found = decoder(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ENCODERS)
@given(data=st.binary(), cut=st.integers(min_value=1, max_value=9))
def test_bodies_are_decoded_however_they_are_cut(name: str, data: bytes, cut: int) -> None:
    body, decode = ENCODERS[name](data), _decoder(name).decode
    pieces = [body[at : at + cut] for at in range(0, len(body), cut)]
    assert b"".join(decode(piece, 1000) for piece in pieces) == data


def test_deflate_without_the_zlib_header_is_decoded_too() -> None:
    decode = _decoder("deflate").decode
    body = _raw_deflate(b"hello")
    assert decode(body[:1], 100) + decode(body[1:], 100) == b"hello"


def test_a_second_gzip_member_is_a_part_of_the_body() -> None:
    assert _decoder("gzip").decode(gzip.compress(b"a") + gzip.compress(b"b"), 10) == b"ab"


def test_a_bomb_gives_no_more_than_was_asked_for() -> None:
    bomb = gzip.compress(b"\x00" * 50_000_000)
    assert len(_decoder("gzip").decode(bomb, 1000)) == 1000


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_what_is_not_in_its_encoding_is_refused(name: str) -> None:
    with pytest.raises(BadEncoding):
        _decoder(name).decode(b"\xff\xff\xff plain text", 1000)


def test_exactly_what_is_asked_for_can_be_decoded() -> None:
    assert all(decoder(name) for name in (*ACCEPTED.split(", "), "identity", ""))
    assert decoder("br") is None
    assert decoder("gzip, gzip") is None
