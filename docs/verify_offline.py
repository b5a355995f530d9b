"""Verify an exported log of mcpdesk without mcpdesk: python3 verify_offline.py SEALS [EVENTS] [KEY]

SEALS and EVENTS are the files of the page "Seals and verification"; KEY is the public key as you
wrote it down; without it the keys in SEALS are believed. Exits with 0 if all is whole, with 1 if
something is not, and with 2 if it could not be verified.
"""

import base64
import hashlib
import hmac
import json
import sys

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(p, q):  # RFC 8032, section 5.1.4
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, p):
    q = (0, 1, 1, 0)
    while n:
        q, p, n = add(q, p) if n & 1 else q, add(p, p), n >> 1
    return q


def point(text):  # section 5.1.3
    y = int.from_bytes(text, "little")
    sign, y = y >> 255, y % 2**255
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    x = x if (x * x - xx) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - xx) % P or (x == 0 and sign):
        raise ValueError("no point of the curve")
    return (x if x & 1 == sign else P - x), y, 1, (x if x & 1 == sign else P - x) * y % P


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(message, signature, key):  # section 5.1.7
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L
    try:
        a, b = times(s, BASE), add(point(r), times(h, point(key)))
    except ValueError:
        return False
    same = (a[0] * b[2] - b[0] * a[2]) % P == 0 == (a[1] * b[2] - b[1] * a[2]) % P
    return len(signature) == 64 and s < L and same


def canonical(value):  # RFC 8785, for what the log holds
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def name(user, text, salts):
    salt = salts.get(user)
    if salt:
        return "hmac:" + hmac.digest(bytes.fromhex(salt), text.encode(), "sha256").hex()
    return "hmac:" + text[7:] if user and text.startswith("erased:") else "text:" + text


def event_hash(event, salts):
    data = dict(event["data"])
    for key in event["data"]:
        if key.endswith("_id") and isinstance(data.get(key[:-3]), str):
            data[key[:-3]] = name(data[key], data[key[:-3]], salts)
    who = name(event["actor"], event["actor_name"], salts)
    return hashlib.sha256(
        b"mcpdesk event 1\n" + canonical({**event, "actor_name": who, "data": data})
    ).digest()


def events_of(path, salts):
    for line in open(path, "rb"):
        value = json.loads(line)
        if "person" in value:
            salts[value["person"]] = value["salt"]
        elif "id" in value:
            yield value


def check_seal(value, number, previous, keys):
    seal, message = value["seal"], b"mcpdesk seal 1\n" + canonical(value["seal"])
    if seal["number"] != number or seal["previous"] != previous:
        sys.exit(f"Seal {number} is missing, or not the one that followed")
    lines = hashlib.sha256(base64.b64decode(value["lines"])).hexdigest()
    key, signature = keys.get(seal["key"]), bytes.fromhex(value["signature"])
    if seal["lines"] != lines or key is None or not is_signed(message, signature, key):
        sys.exit(f"Seal {number} was changed, or signed with another key")
    digest = hashlib.sha256(message).hexdigest()
    if "pruned_at" in value:
        mark = canonical({"pruned_at": value["pruned_at"], "seal": digest})
        signature = bytes.fromhex(value["pruned_signature"])
        if not any(is_signed(b"mcpdesk pruned 1\n" + mark, signature, k) for k in keys.values()):
            sys.exit(f"The events of seal {number} are gone, and nobody signed for that")
    return digest


def check_events(value, events, salts):
    seal, lines, hashes = value["seal"], base64.b64decode(value["lines"]), []
    for place in range(0, len(lines), 16):
        wanted = int.from_bytes(lines[place : place + 8], "big", signed=True)
        event = next(events, None)
        if event is None or event["id"] > wanted:
            sys.exit(f"Event {wanted} (seal {seal['number']}) is missing")
        where = f"Event {event['id']} at {ascii(event['at'])[1:-1]} (seal {seal['number']})"
        if event["id"] < wanted:
            sys.exit(f"{where} was added")
        hashes.append(event_hash(event, salts))
        if hashes[-1][:8] != lines[place + 8 : place + 16]:
            sys.exit(f"{where} was changed or reordered")
    if hashlib.sha256(b"".join(hashes)).hexdigest() != seal["root"]:
        sys.exit(f"An event of seal {seal['number']} was changed")
    return len(hashes)


def main(seals, events=None, key=None):
    lines, salts, previous, number, found, last = open(seals, "rb"), {}, "0" * 64, 0, 0, {}
    keys = [base64.urlsafe_b64decode(k) for k in json.loads(next(lines))["keys"].values()]
    wanted = [base64.urlsafe_b64decode(key)] if key else keys
    keys = {hashlib.sha256(k).hexdigest()[:16]: k for k in keys if k in wanted}
    if not keys:
        sys.exit("The file does not name the key that is given, or none")
    reading = events_of(events, salts) if events else None
    for number, line in enumerate(lines, start=1):
        value = json.loads(line)
        previous = check_seal(value, number, previous, keys)
        if reading and "pruned_at" not in value:
            found += check_events(value, reading, salts)
        last = value["seal"]
    whose = f"keys {', '.join(keys)}, team {last.get('team')!a}, up to {last.get('sealed_at')!a}"
    print(f"Whole: {number} seals, {found if events else 'no file of'} events, {whose}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:5])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as why:
        print(f"Not verified: {why!a}", __doc__, sep="\n\n", file=sys.stderr)
        sys.exit(2)
