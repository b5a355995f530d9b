"""Compares a seal with the seal before it, and with the events that stand where it says. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mcpdesk.audit.canonical import Line, Salts, event_hash
from mcpdesk.audit.chain import Content, root_of, unpack
from mcpdesk.audit.findings import Fault, Finding

#: For so many changed lines of a batch it is looked up which other line stands in their place.
_SOUGHT = 20
#: (message, signature, public key) -> whether it is signed
IsSigned = Callable[[bytes, bytes, bytes], bool]


def seal_faults(
    content: Content,
    signature: bytes,
    previous: bytes | None,
    keys: Mapping[str, bytes],
    is_signed: IsSigned,
) -> Iterator[Finding]:
    """What is wrong with a seal by itself, and with its place in the chain.

    `previous` is the digest of the seal before it; None: that one is wrong itself.
    """
    key = keys.get(content.key_id)
    if key is None:
        words = f"it is signed with key {content.key_id}, which this desk does not know"
        yield Finding(Fault.SEAL_UNKNOWN_KEY, content.number, words)
    elif not is_signed(content.signed_bytes(), signature, key):
        words = "it was changed or forged: its signature does not hold"
        yield Finding(Fault.SEAL_CHANGED, content.number, words)
    elif previous is not None and content.previous != previous:
        words = "it does not follow the seal before it: that one was replaced"
        yield Finding(Fault.CHAIN_BROKEN, content.number, words)


def event_faults(content: Content, lines: Iterable[Line], salts: Salts) -> Iterator[Finding]:
    """Where the events differ from what the seal holds of them. The seal itself must be whole.

    `lines`: every event there is between the seal before this one and the last id of this one.
    """
    sealed = dict(unpack(content.lines))
    unseen = iter(sealed)
    hashes: list[bytes] = []
    wrong = 0
    for line in lines:
        if line.id not in sealed:
            wrong += 1
            yield _finding(Fault.ADDED, content, line, "it was added: no seal holds it")
            continue
        for missing in _until(unseen, line.id):
            wrong += 1
            yield _missing(content, missing)
        full = hash_of(line, salts)
        if full[:8] != sealed[line.id]:
            wrong += 1
            others = sealed if wrong <= _SOUGHT else {}
            yield _changed(content, line, others, salts)
        hashes.append(full)
    for missing in unseen:
        wrong += 1
        yield _missing(content, missing)
    if not wrong and root_of(hashes) != content.root:
        words = "one of its events was changed: all of them together differ from what was sealed"
        yield Finding(Fault.CHANGED, content.number, words)


def hash_of(line: Line, salts: Salts) -> bytes:
    """event_hash(), and zeros for what cannot be written in canonical form at all."""
    try:
        return event_hash(line, salts)
    except (ValueError, RecursionError):
        return bytes(32)


def _until(ids: Iterator[int], wanted: int) -> Iterator[int]:
    """The ids before the wanted one, which is taken too."""
    for pk in ids:
        if pk == wanted:
            return
        yield pk


def _changed(content: Content, line: Line, others: Mapping[int, bytes], salts: Salts) -> Finding:
    """A line that differs; it may be another line of the batch that stands in the wrong place."""
    for pk, short in others.items():
        if pk != line.id and hash_of(line._replace(id=pk), salts)[:8] == short:
            words = f"it was reordered: here stands what was sealed as event {pk}"
            return _finding(Fault.REORDERED, content, line, words)
    return _finding(Fault.CHANGED, content, line, "it was changed after it was sealed")


def _finding(fault: Fault, content: Content, line: Line, words: str) -> Finding:
    return Finding(fault, content.number, words, line.id, line.at)


def _missing(content: Content, event_id: int) -> Finding:
    return Finding(Fault.MISSING, content.number, "it is missing", event_id)
