"""The page that explains the API."""

import pytest

from mcpdesk.accounts.models import Role
from tests.factories import MembershipFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


def test_what_stands_in_backticks_is_code_and_lines_of_the_source_are_no_lines_of_the_page() -> (
    None
):
    page = signed_in(MembershipFactory(role=Role.VIEWER)).get("/api/").content.decode()
    assert "<p><code>mine</code>: those that wait for you, oldest first." in page
    assert "as it was read" in page
    assert "`" not in page
    assert "<br>" not in page.split("<main", 1)[1]


def test_the_index_names_every_route_with_a_whole_sentence() -> None:
    context = signed_in(MembershipFactory(role=Role.VIEWER)).get("/api/").context
    assert {route["id"] for route in context["routes"]}
    assert all(route["summary"][0].isupper() for route in context["routes"])
