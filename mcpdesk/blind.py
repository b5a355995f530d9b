"""A blind index: texts that are stored encrypted can be found by their words, and whoever has the
database without the keys learns from the index neither the words nor the texts.

A word becomes a number: HMAC-SHA256 over team, kind and word, of which 63 bits are kept (a number
that two words share finds a row too many once in a while, and hides none). The key is derived by
HKDF (RFC 5869) from the first of `settings.ENCRYPTION_KEYS`, so that it changes with it; look-ups
try every configured key, and `./desk rebuild_words` writes the numbers anew under the first one.

Numbers of what only those may find who may read payloads are negative, all others positive: what a
person may not read cannot be found by them, and the words of a deleted payload can be told apart.
"""

import hashlib
import hmac
import re
import unicodedata
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

#: So many numbers a row has at most, and so much of one text is read (characters).
MAX_NUMBERS: Final = 200
MAX_TEXT: Final = 10_000
#: Longer words are cut, in texts and in look-ups alike.
MAX_WORD: Final = 64
#: A look-up asks for so many words at most.
MAX_ASKED: Final = 8
#: What a mark on the history of an operation or an item says of a person (their id).
DECIDED: Final = "decided"
_INFO: Final = b"mcpdesk blind index 1"
_WORD: Final = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text as they are compared: NFKC, case-folded, each once, in their order.

    `deploy_project` is found by itself and by each of its parts.
    """
    plain = unicodedata.normalize("NFKC", text[:MAX_TEXT]).casefold()
    found: dict[str, None] = {}
    for word in _WORD.findall(plain):
        found[word[:MAX_WORD]] = None
        if "_" in word:
            found.update(dict.fromkeys(part[:MAX_WORD] for part in word.split("_") if part))
    return list(found)


def open_numbers(team_id: int, *texts: str) -> list[int]:
    """The words of what everybody in the team may read, as numbers to be stored."""
    return [_number(_keys()[0], team_id, word) for word in _all_words(texts)]


def sealed_numbers(team_id: int, *texts: str) -> list[int]:
    """The words of what only those may read who may see the payload, as numbers to be stored."""
    return [-number for number in open_numbers(team_id, *texts)]


def mark(team_id: int, name: str, value: object) -> int:
    """A number that stands for a fact ("decided by person 7"), not for a word of a text."""
    return _number(_keys()[0], team_id, f"{name}:{value}")


def marks(team_id: int, name: str, value: object) -> list[int]:
    """The same fact under every configured key: any of these numbers says it."""
    return [_number(key, team_id, f"{name}:{value}") for key in _keys()]


def asked(team_id: int, text: str) -> list[list[int]]:
    """What to look for: each word of the text as the numbers it may have, open ones.

    A row fits when it has one number of every word; the sealed ones are these with a minus.
    """
    return [[_number(key, team_id, word) for key in _keys()] for word in words(text)[:MAX_ASKED]]


def _all_words(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for text in texts for word in words(text)))


def _number(key: bytes, team_id: int, word: str) -> int:
    """From 1 to 2**63 - 1: PostgreSQL's bigint without its sign."""
    digest = hmac.digest(key, f"{team_id}\0{word}".encode("utf-8", "surrogatepass"), hashlib.sha256)
    return int.from_bytes(digest[:8], "big") >> 1 or 1


def _keys() -> tuple[bytes, ...]:
    return _derived(tuple(settings.ENCRYPTION_KEYS))


@lru_cache(maxsize=4)
def _derived(keys: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(
        HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO).derive(urlsafe_b64decode(key))
        for key in keys
    )
