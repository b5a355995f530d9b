"""Parts of a result as files: what came, under a type that no browser runs."""

import base64
import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Operation, Payload, Server
from tasks_monitor.result_parts import Part, part
from tests.factories import MembershipFactory, OperationFactory
from tests.web.browsing import browser, signed_in

SVG = base64.b64encode(b"<svg onload=alert(1)>").decode()
PNG = base64.b64encode(b"\x89PNG").decode()


def one(block: Any, name: str = "0") -> Part | None:
    return part({"content": [block]}, name)


def test_a_picture_keeps_its_bytes_and_its_type() -> None:
    block = {"type": "image", "mimeType": "image/png", "data": PNG}
    assert one(block) == Part(b"\x89PNG", "image/png", "png")


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html", "application/xhtml+xml", 7])
def test_what_a_browser_could_run_goes_as_plain_bytes(media_type: Any) -> None:
    resource = {"uri": "x", "mimeType": media_type, "blob": SVG}
    found = one({"type": "resource", "resource": resource})
    assert found == Part(b"<svg onload=alert(1)>", "application/octet-stream", "bin")


def test_html_in_a_text_resource_is_text() -> None:
    resource = {"uri": "x", "mimeType": "text/html", "text": "<script>"}
    found = one({"type": "resource", "resource": resource})
    assert found == Part(b"<script>", "text/plain; charset=utf-8", "txt")


def test_half_a_character_does_not_break_a_file_of_text() -> None:
    assert one({"type": "text", "text": "a\ud800b"}) == Part(
        b"a?b", "text/plain; charset=utf-8", "txt"
    )


def test_structured_content_is_json() -> None:
    found = part({"structuredContent": {"ü": [1]}}, "structured")
    assert found is not None
    assert (json.loads(found.content), found.media_type) == ({"ü": [1]}, "application/json")


@pytest.mark.parametrize("name", ["1", "-1", "01x", "²", "9" * 30, "structured", "x"])
def test_what_is_not_there_is_not_found(name: str) -> None:
    assert one({"type": "text", "text": "x"}, name) is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["type", "resource", "blob", "data", "text"]), inner)
        ),
    )
)
def test_any_result_has_a_part_or_none(value: Any) -> None:
    for result in (value, {"content": value}, {"content": [value]}):
        found = part(result, "0")
        assert found is None or isinstance(found.content, bytes)


@pytest.fixture
def carried(server: Server) -> Operation:
    """Somebody else's operation whose result has a hostile picture in it."""
    operation = OperationFactory(server=server, state="completed")
    hostile = {"type": "image", "mimeType": "image/svg+xml", "data": SVG}
    Payload.objects.filter(pk=operation.pk).update(result={"content": [hostile]})
    return operation


@pytest.mark.django_db
def test_a_part_is_a_file_that_runs_nothing(operator: Membership, carried: Operation) -> None:
    response = signed_in(operator).get(f"/operations/{carried.pk}/result/0/")
    assert response.content == b"<svg onload=alert(1)>"
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment; filename=")
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER])
def test_who_may_not_see_the_result_gets_no_part_of_it(
    operator: Membership, carried: Operation, role: Role
) -> None:
    for client in (browser(role, operator.team), signed_in(MembershipFactory(role=Role.ADMIN))):
        assert client.get(f"/operations/{carried.pk}/result/0/").status_code == 404


@pytest.mark.django_db
def test_a_part_that_is_not_there_is_a_404(operator: Membership, carried: Operation) -> None:
    client: Client = signed_in(operator)
    assert client.get(f"/operations/{carried.pk}/result/7/").status_code == 404
    assert client.get(f"/operations/{carried.pk}/result/structured/").status_code == 404
