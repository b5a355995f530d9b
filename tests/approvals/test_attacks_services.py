"""Four eyes around a service: whoever made its token started what it starts, on every path."""

from collections.abc import Callable

import pytest
from django.urls import reverse

from approvals import selectors
from approvals.models import Approval, Vote
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from tasks_monitor.models import Operation
from tests.api.calling import a_token
from tests.approvals.attacks import (
    Path,
    always,
    as_admin,
    as_approver,
    as_named,
    as_stand_in,
    as_superuser,
    browser,
    by_verb,
    either_word,
    every_path,
    left,
    proof,
    untouched,
)
from tests.approvals.conftest import Join

pytestmark = pytest.mark.django_db


@pytest.fixture
def of_service(item: Approval, operator: Member, team: Team) -> Approval:
    """For two approvers under four eyes, from a service whose token `operator` made."""
    token, _ = a_token(team, created_by=operator.user)
    Operation.objects.filter(approvals=item).update(started_by=None, token=token)
    return Approval.objects.get(pk=item.pk)


@every_path
@either_word
@pytest.mark.parametrize("disguise", [as_approver, as_superuser, as_named, as_stand_in])
def test_whoever_made_the_token_of_the_service_that_started_it_says_nothing_either(
    of_service: Approval,
    operator: Member,
    team: Team,
    join: Join,
    path: Path,
    yes: bool,
    disguise: Callable[..., None],
) -> None:
    disguise(operator, team, of_service, join)
    path(of_service, operator, proof(of_service, operator), yes=yes)
    assert untouched(of_service)


@every_path
def test_nobody_acts_for_whoever_made_the_token_of_the_service(
    of_service: Approval, operator: Member, team: Team, join: Join, path: Path
) -> None:
    as_admin(operator, team, of_service, join)
    stand_in = join(Role.OPERATOR)
    always(team, operator, stand_in)
    path(of_service, stand_in, proof(of_service, stand_in), yes=True)
    assert untouched(of_service)


def test_what_a_service_started_is_put_to_others_than_the_maker_of_its_token(
    of_service: Approval, operator: Member, approver: Member, team: Team, join: Join
) -> None:
    as_admin(operator, team, of_service, join)
    maker = access.member_in(operator.user, team.pk)
    assert maker is not None
    who = access.deciders(of_service)
    for ids in ({user.pk for user in who.users}, {right.user_id for right in who.rights}):
        assert approver.user_id in ids
        assert maker.user_id not in ids
    assert selectors.badge_count(maker) == 0
    assert selectors.badge_count(approver) == 1
    page = browser(maker).get(reverse("inbox_item", args=[of_service.pk])).content.decode()
    assert "Deploy-bot started this with a token that you made" in page


def test_a_vote_from_before_does_not_count_for_the_maker_of_the_token(
    item: Approval, operator: Member, approver: Member, team: Team, join: Join
) -> None:
    """As votes were given before the desk barred them."""
    as_admin(operator, team, item, join)
    Operation.objects.update(started_by=None)
    by_verb(item, operator, proof(item, operator), yes=True)
    assert Vote.objects.count() == 1
    Operation.objects.update(token=a_token(team, created_by=operator.user)[0])
    by_verb(item, approver, proof(item, approver), yes=True)
    assert not left(item)
