import pytest

from mcpdesk.support.rows import site
from mcpdesk.web.forms import SupportForm
from tests.docs import pages

SUPPORT = pages.text_of("docs/support.md")


def test_every_kind_of_row_that_support_sees_is_described_and_no_other() -> None:
    described = {row[0].lower() for row in pages.tables(SUPPORT, "rows")}
    assert described == {str(model._meta.verbose_name_plural).lower() for model in site._registry}


@pytest.mark.parametrize("label", [label for _, label in SupportForm().fields["hours"].choices])
def test_every_time_that_support_can_be_let_in_for_is_named(label: str) -> None:
    said = label.replace("1 hour", "an hour").replace("1 day", "a day")
    assert said in SUPPORT
