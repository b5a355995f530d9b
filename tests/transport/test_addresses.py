"""Which addresses the desk may talk to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.http.addresses import BadAddress, Origin, origin_of, redirected, why_refused

PRIVATE = [
    "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "10.1.2.3", "172.16.0.1", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fc00::1",
    "224.0.0.1", "239.255.255.250", "ff02::1", "255.255.255.255", "240.0.0.1", "192.0.2.1",
    "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1",
    "2002:7f00:1::", "2002:a00:1::1", "not an address", "", "fec0::1", "::7f00:1", "::808:808",
    "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "64:ff9b:1::808:808", "3fff::1", "5f00::1", "4000::1",
    "192.0.0.8", "192.88.99.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public_needs_to_be_allowed(address: str) -> None:
    assert why_refused(address, allow_private=False, tls=True)
    assert why_refused(address, allow_private=True, tls=True) is None
    assert why_refused(address, allow_private=True, tls=False) is None


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_needs_tls(address: str) -> None:
    assert why_refused(address, allow_private=False, tls=True) is None
    assert why_refused(address, allow_private=True, tls=False)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://example.com/mcp", Origin("https", "example.com", 443)),
        ("http://EXAMPLE.com", Origin("http", "example.com", 80)),
        ("https://[::1]:8443/x?y", Origin("https", "::1", 8443)),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: Origin) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/", "file:///etc/passwd", "example.com", "", "https://", "https:///x",
        "https://user@example.com/", "https://user:pw@example.com/", "https://:@example.com/",
        "https://example.com:99999/", "https://example.com:x/", "https://[::1/", "//example.com/",
        "https://exa mple.com/", "https://example.com/\r\nX: y", "https://a..b/",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(BadAddress) as bad:
        origin_of(url)
    assert "pw" not in str(bad.value)


@given(st.text())
def test_any_address_has_an_origin_or_is_refused(url: str) -> None:
    try:
        assert origin_of(url).host
    except BadAddress as bad:
        assert str(bad).endswith(".")


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/other", "https://example.com/other"),
        ("https://example.com:443/other?a=1", "https://example.com/other?a=1"),
        ("other", "https://example.com/a/other"),
    ],
)
def test_a_redirect_within_the_origin_may_be_followed(location: str, target: str) -> None:
    found = redirected("https://example.com/a/mcp", location)
    assert found.replace(":443", "") == target


@pytest.mark.parametrize(
    "location",
    [
        "https://other.example/mcp?token=s3cret",
        "https://other.example/s3cret/mcp",
        "http://example.com/mcp",
        "https://example.com:8443/mcp",
        "//other.example/mcp",
    ],
)
def test_a_redirect_to_another_origin_is_told_without_path_and_query(location: str) -> None:
    with pytest.raises(BadAddress) as bad:
        redirected("https://example.com/mcp", location)
    assert "has moved to http" in str(bad.value)
    assert "s3cret" not in str(bad.value)


@pytest.mark.parametrize("location", ["https://u:pw@example.com/", "ftp://x/", "https://[bad/"])
def test_a_redirect_to_nowhere_is_refused(location: str) -> None:
    with pytest.raises(BadAddress) as bad:
        redirected("https://example.com/mcp", location)
    assert "pw" not in str(bad.value)
