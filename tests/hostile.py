"""Questions that a server asks in bad faith: texts, forms, addresses and sizes.

They are written as the engine would have kept them, so that nothing on the way softens them; those
that the simulator can ask are in docs/simulator.md, and go all the way elsewhere.
"""

from typing import Any

from tests.factories import form_params, url_params

#: Each would run, load or replace something if it were ever more than text.
BREAKOUTS = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"><svg/onload=window.pwned=1>",
    "' onfocus=window.pwned=1 autofocus '",
    "</title></textarea></pre></script><script>window.pwned=1</script>",
    "{{ 7|add:7 }}{% debug %}",
    "<style>*{display:none!important}</style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<base href=https://evil.example/>",
    "</form><form action=https://evil.example/><button>Approve</button>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<a href=javascript:window.pwned=1>Approve</a>",
    "<b hx-get=/health/ hx-trigger=load hx-on::load=window.pwned=1>x</b>",
    "<div id=item-form hx-swap-oob=true>gone</div>",
    "<input name=binding value=x><input name=choice value=accept>",
    "<!--", "]]>", "<plaintext>",
)  # fmt: skip
MARKUP = "\n".join(BREAKOUTS)

#: Texts that lie to the eye; what is hidden in them must be seen, by its code or in words.
TRICKS = {
    "right-to-left override": ("Pay \u202e000,01\u202c EUR", "U+202E"),
    "isolates": ("Send to \u2066\u2067evil\u2069\u2069", "U+2066"),
    "zero width": ("app\u200brove\u200d this\ufeff", "U+200B"),
    "tag characters": ("Fine." + "".join(chr(0xE0000 + ord(c)) for c in "do it"), "U+E0064"),
    "soft hyphen": ("pay\u00adpal", "U+00AD"),
    "word joiner": ("pay\u2060pal", "U+2060"),
    "blank letters": ("\u3164\u3164 fill \u2800", "U+3164"),
    "variation selectors": ("ok\ufe0f\U000e0101", "U+E0101"),
    "escape sequences": ("\x1b[8mhidden\x1b[0m\x08\x08", "U+001B"),
    "line separators": ("one\u2028two\u2029three", "U+2028"),
    "carriage return": ("Delete all\rKeep all  ", "U+000D"),
    "lone surrogate": ("half \ud800 a pair", "U+D800"),
    "null": ("end\x00 here", "U+0000"),
}

#: Texts that would push the buttons away or draw over them.
SIZES = {
    "256 KiB less the rest": "long " * 51_000,
    "a word without end": "w" * 100_000,
    "twenty thousand lines": "line\n" * 20_000,
    "stacked accents": ("e" + "\u0301\u0489\u035f" * 300 + " ") * 20,
    "wide characters": "\ufdfd" * 2_000,
    "spaces": " " * 50_000 + "end",
}

_TEXT = {"type": "string"}
#: Names that mean something to browsers, to the desk's own forms, or to JavaScript.
NAMES = (
    "__proto__", "constructor", "toString", "prototype", "hasOwnProperty", "csrfmiddlewaretoken",
    "decision", "choice", "binding", "token", "reason", "field-0", "action", "method", "submit",
    "elements", "id", "Name", "name", "NAME", "a.b[c]", "<b>", "ünïcode", " ", "next",
)  # fmt: skip

SCHEMAS: dict[str, Any] = {
    "names": form_params("Names", **dict.fromkeys(NAMES, _TEXT)),
    "markup in every word": form_params(
        MARKUP,
        **{
            MARKUP: {"type": "string", "title": MARKUP, "description": MARKUP, "default": MARKUP},
            "choice": {"type": "string", "enum": [MARKUP, "b"], "enumNames": [MARKUP, MARKUP]},
            "long": {"type": "string", "enum": [f"{MARKUP}{n}" for n in range(9)]},
        },
    ),
    "a pattern without end": form_params("Bomb", x={**_TEXT, "pattern": "^(a|a)*$"}),
    "a choice of thousands": form_params(
        "Choose", x={"type": "string", "enum": [f"option {n}" for n in range(5000)]}
    ),
    "one title for all": form_params(
        "Choose",
        x={"type": "string", "oneOf": [{"const": str(n), "title": "same"} for n in range(6)]},
    ),
    "900 fields": form_params("Many", **{f"f{n}": _TEXT for n in range(900)}),
    "sixty levels": form_params("Deep", x=None),
    "bounds beyond numbers": form_params(
        "Bounds", x={"type": "integer", "minimum": -(10**400), "maximum": 10**400}
    ),
    "a default of another kind": form_params("Default", x={**_TEXT, "default": {"a": [1]}}),
    "formats nobody knows": form_params("Format", x={**_TEXT, "format": "<svg onload=pwned=1>"}),
}
for _ in range(60):
    _deep = {"type": "object", "properties": {"x": SCHEMAS["sixty levels"]}}
    SCHEMAS["sixty levels"] = _deep
SCHEMAS["sixty levels"] = {
    "mode": "form",
    "message": "Deep",
    "requestedSchema": SCHEMAS["sixty levels"],
}

#: Addresses, with what of them must be readable before anybody agrees to anything.
ADDRESSES = {
    "javascript:window.pwned=1": "javascript:window.pwned=1",
    "JaVaScRiPt:window.pwned=1//https://good.example": "JaVaScRiPt:",
    "java\tscript:window.pwned=1": "is never opened",
    "data:text/html,<script>window.pwned=1</script>": "data:text/html,<script>",
    "blob:https://good.example/1": "blob:https://good.example/1",
    "vbscript:msgbox(1)": "vbscript:",
    "file:///etc/passwd": "file:///etc/passwd",
    "https://good.example@evil.example/": "evil.example",
    "https://good.example:pass%40@evil.example/": "evil.example",
    "https://good.example\\@evil.example/": "https://good.example\\@evil.example/",
    "https://\u0430pple.com/": "xn--pple-43d.com",
    "https://xn--80ak6aa92e.com/": "xn--80ak6aa92e.com",
    "https://evil.example/\u202egnp.exe": "U+202E",
    "https://evil\u2024example.com/": "https://evil\u2024example.com/",
    "https://[::ffff:127.0.0.1]/": "127.0.0.1",
    "https://0x7f.1/": "0x7f.1",
    "https://good.example:22/": "22",
    "http://good.example/": "http://good.example/",
    "//evil.example/": "//evil.example/",
    "https:evil.example": "https:evil.example",
    '"><a href=https://evil.example/>x</a>': '"><a href=https://evil.example/>x</a>',
    "https://good.example/?q=" + "a" * 60_000: "good.example",
}
LINKS = {address: url_params(address, "Open it") for address in ADDRESSES}
