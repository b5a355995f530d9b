import pytest

from approvals.schema_form import response


def test_accept_in_a_form_carries_the_content_even_when_it_is_empty() -> None:
    assert response("accept", {}) == {"action": "accept", "content": {}}


def test_accept_of_a_link_carries_no_content() -> None:
    assert response("accept") == {"action": "accept"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_no_carries_no_content_whatever_was_filled_in(action: str) -> None:
    assert response(action, {"a": "draft"}) == {"action": action}


def test_an_action_that_does_not_exist_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="approve"):
        response("approve")
