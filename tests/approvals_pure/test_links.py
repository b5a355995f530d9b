import pytest

from approvals.links import LinkFacts, inspect_url

SERVER = "mcp.example.com"


def _facts(url: str, server: str = SERVER) -> LinkFacts:
    return inspect_url(url, server)


def _codes(url: str, server: str = SERVER) -> set[str]:
    return {warning.code for warning in _facts(url, server).warnings}


def test_a_plain_link_to_the_server_itself_has_no_warnings() -> None:
    facts = _facts("https://MCP.example.com/connect?x=1#top")
    assert facts.openable
    assert facts.warnings == ()
    assert (facts.scheme, facts.host, facts.port) == ("https", "mcp.example.com", None)
    assert facts.href == "https://mcp.example.com/connect?x=1#top"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        " JaVa\tScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "blob:https://x.com/a",
        "view-source:https://x.com",
        "ftp://x.com",
        "wss://x.com",
        "x:",
    ],
)
def test_other_schemes_are_never_opened(url: str) -> None:
    facts = _facts(url)
    assert not facts.openable
    assert facts.href == ""
    assert facts.scheme in facts.reason


@pytest.mark.parametrize(
    "url", ["", "/path", "//evil.com", "evil.com", "https://", "https://:80/", "?x"]
)
def test_what_names_no_host_is_not_opened(url: str) -> None:
    assert not _facts(url).openable


@pytest.mark.parametrize(
    "url",
    [
        "https:/\\evil.com/",
        "https:\\\\evil.com",
        "https:evil.com",
        "https:///evil.com",
        "https://evil.com\\@mcp.example.com/",
        "ht\ntps://evil.com",
        "https://ev\til.com",
        "  https://evil.com",
        "https://evil.com\n",
        "https:/evil.com/",
        "https://ev\xadil.com",
    ],
)
def test_tricks_are_read_as_a_browser_reads_them_and_not_opened(url: str) -> None:
    facts = _facts(url)
    assert facts.host == "evil.com"
    assert not facts.openable


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://github.com@evil.com/", "evil.com"),
        ("https://github.com:443@evil.com:8443/", "evil.com"),
        ("https://a@b@evil.com/", "evil.com"),
        ("https://evil.com#@github.com", "evil.com"),
        ("https://evil.com?@github.com/", "evil.com"),
        ("https://exam%70le.com/", "example.com"),
        ("https://ｅｘａｍｐｌｅ。com/", "example.com"),
    ],
)
def test_the_host_is_where_the_browser_would_go(url: str, host: str) -> None:
    assert _facts(url).host == host


def test_a_user_name_before_the_host_is_warned_about() -> None:
    assert "user_info" in _codes("https://github.com@evil.com/")


def test_http_is_opened_only_to_this_machine() -> None:
    for url in (
        "http://localhost:8000/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://a.localhost",
    ):
        assert _facts(url).openable
        assert "not_https" in _codes(url)
    assert not _facts("http://example.com/").openable
    assert not _facts("http://localhost.evil.com/").openable
    assert not _facts("http://10.0.0.1/").openable


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://2130706433/", "127.0.0.1"),
        ("https://0x7f000001/", "127.0.0.1"),
        ("https://0177.0.0.1/", "127.0.0.1"),
        ("https://127.1/", "127.0.0.1"),
        ("https://0xA9.0xFE.43518/", "169.254.169.254"),
        ("https://1.2.3.4./", "1.2.3.4"),
        ("https://[::FFFF:10.0.0.1]/", "[::ffff:a00:1]"),
    ],
)
def test_an_address_in_any_writing_is_an_address(url: str, address: str) -> None:
    assert _facts(url).host == address
    assert "ip_address" in _codes(url)


@pytest.mark.parametrize(
    "host",
    [
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.0x1ff",
        "09.1.1.1",
        "[::1",
        "[fe80::1%25eth0]",
        "a%00b.com",
        "x y.com",
        "a<b.com",
        "a^b.com",
        "\ud800.com",
        "%ff.com",
        "x" * 300,
    ],
)
def test_a_host_that_cannot_exist_is_not_opened(host: str) -> None:
    assert not _facts(f"https://{host}/").openable


@pytest.mark.parametrize("url", ["https://x.com:99999/", "https://x.com:8a/", "https://x.com:-1/"])
def test_a_port_that_cannot_exist_is_not_opened(url: str) -> None:
    assert not _facts(url).openable


def test_an_odd_port_is_warned_about_and_the_usual_one_is_not() -> None:
    assert "odd_port" in _codes("https://mcp.example.com:8443/")
    assert _codes("https://mcp.example.com:443/") == set()


@pytest.mark.parametrize("url", ["https://żółw.pl/", "https://xn--w-uga1v8h.pl/"])
def test_punycode_is_decoded_beside_the_name(url: str) -> None:
    facts = _facts(url)
    assert (facts.host, facts.host_unicode) == ("xn--w-uga1v8h.pl", "żółw.pl")
    assert "punycode" in _codes(url)
    assert "look_alike" not in _codes(url)


@pytest.mark.parametrize(
    "host", ["pаypal.com", "xn--pypal-4ve.com", "аррӏе.com", "xn--80ak6aa92e.com", "paypaı.com"]
)
def test_borrowed_letters_are_warned_about(host: str) -> None:
    assert "look_alike" in _codes(f"https://{host}/")


@pytest.mark.parametrize("host", ["москва.рф", "例え.テスト", "bücher.de", "☃.net"])
def test_names_in_one_alphabet_are_not_called_look_alikes(host: str) -> None:
    assert "look_alike" not in _codes(f"https://{host}/")


@pytest.mark.parametrize(
    "host", ["mcp.examp1e.com", "rncp.example.com", "mcp.example.com.evil.net", "mcp.exаmple.com"]
)
def test_a_host_that_plays_the_server_is_warned_about(host: str) -> None:
    assert {"other_host", "like_server"} <= _codes(f"https://{host}/")


def test_another_host_is_named_and_a_part_of_the_servers_is_no_look_alike() -> None:
    assert _codes("https://login.mcp.example.com/") == {"other_host"}


@pytest.mark.parametrize("server", ["mcp.example.com:8443", "MCP.EXAMPLE.COM", "u@mcp.example.com"])
def test_the_servers_port_and_case_do_not_make_another_host(server: str) -> None:
    assert _codes("https://mcp.example.com/", server) == set()


@pytest.mark.parametrize("server", ["[::1]:8650", "::1"])
def test_a_server_by_address_is_recognised(server: str) -> None:
    assert "other_host" not in _codes("https://[::1]/", server)


@pytest.mark.parametrize("end", ["\u202egpj", "\u200b", "\u00a0", " x", "\x00", "\ue000", "\ud800"])
def test_hidden_characters_anywhere_are_not_opened(end: str) -> None:
    assert not _facts(f"https://mcp.example.com/{end}").openable


def test_a_link_without_end_is_not_opened() -> None:
    assert not _facts("https://mcp.example.com/" + "a" * 10_000).openable
