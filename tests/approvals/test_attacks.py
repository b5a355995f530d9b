"""Four eyes and quorum, attacked on every path: page, htmx, bulk, link, API, the verb behind."""

from collections.abc import Callable
from itertools import product
from pathlib import Path as File
from typing import Any

import pytest
from django.urls import reverse

from approvals.models import Approval, ApprovalState, Kind, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team, User
from tasks_monitor.engine.servers import bearer, change_server
from tasks_monitor.models import Server
from tests.api.calling import Caller, a_token
from tests.approvals.attacks import (
    PATHS,
    Path,
    always,
    as_admin,
    as_approver,
    as_it_is,
    as_named,
    as_stand_in,
    as_superuser,
    as_they_are,
    browser,
    by_api,
    by_page,
    by_verb,
    either_word,
    every_path,
    in_bulk,
    left,
    page_or_api,
    proof,
    untouched,
)
from tests.approvals.conftest import Join
from tests.engine.conftest import an_admin
from tests.factories import NOW, ApprovalFactory, TeamFactory

pytestmark = pytest.mark.django_db

ROOT = File(__file__).parents[2]


# --- whoever started it


@every_path
@either_word
@pytest.mark.parametrize(
    "disguise",
    [as_they_are, as_approver, as_admin, as_superuser, as_named, as_stand_in],
)
def test_whoever_started_it_says_neither_yes_nor_no(
    item: Approval,
    operator: Member,
    team: Team,
    join: Join,
    path: Path,
    yes: bool,
    disguise: Callable[..., None],
) -> None:
    disguise(operator, team, item, join)
    path(item, operator, proof(item, operator), yes=yes)
    assert untouched(item)


@every_path
@either_word
def test_nobody_acts_for_whoever_started_it(
    item: Approval, operator: Member, team: Team, join: Join, path: Path, yes: bool
) -> None:
    as_admin(operator, team, item, join)
    stand_in = join(Role.OPERATOR)
    always(team, operator, stand_in)
    path(item, stand_in, proof(item, stand_in), yes=yes)
    assert untouched(item)


# --- one person, counted twice


@pytest.mark.parametrize("first", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("second", PATHS.values(), ids=PATHS)
def test_one_person_on_two_paths_is_one_person(
    item: Approval, approver: Member, first: Path, second: Path
) -> None:
    for path in (first, second, first):
        path(item, approver, proof(item, approver), yes=True)
    assert Vote.objects.filter(user=approver.user).count() == 1
    assert not left(item)


@every_path
def test_one_person_with_every_right_there_is_is_one_person(
    item: Approval, approver: Member, team: Team, join: Join, path: Path
) -> None:
    Membership.objects.filter(user=approver.user).update(role=Role.ADMIN)
    User.objects.filter(pk=approver.user_id).update(is_superuser=True)
    item.people.add(approver.user)
    for _ in range(2):
        always(team, join(Role.APPROVER), approver)
    for _ in range(3):
        path(item, approver, proof(item, approver), yes=True)
    assert not left(item)


@every_path
def test_two_people_are_two(item: Approval, approver: Member, join: Join, path: Path) -> None:
    path(item, approver, proof(item, approver), yes=True)
    assert not left(item)
    second = join()
    # what somebody proposed is confirmed by itself, never among others
    confirm = by_page if item.kind == Kind.ANSWER and path is in_bulk else path
    confirm(item, second, proof(item, second), yes=True)
    assert left(item)


# --- who has no business there


@every_path
@either_word
@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR, Role.OPERATOR])
def test_who_was_not_asked_says_neither_yes_nor_no(
    item: Approval, join: Join, path: Path, yes: bool, role: Role
) -> None:
    other = join(role)
    User.objects.filter(pk=other.user_id).update(is_superuser=True, is_staff=True)
    path(item, other, proof(item, other), yes=yes)
    assert untouched(item)


@every_path
@either_word
def test_another_teams_admin_finds_nothing(
    item: Approval, join: Join, path: Path, yes: bool
) -> None:
    stranger = join(Role.ADMIN, team=TeamFactory())
    response = path(item, stranger, proof(item, stranger), yes=yes)
    assert untouched(item)
    if path in (by_page, by_api):
        assert response.status_code == 404


@every_path
def test_a_superuser_who_is_in_no_team_finds_nothing(
    item: Approval, join: Join, path: Path
) -> None:
    member = join(Role.ADMIN)
    User.objects.filter(pk=member.user_id).update(is_superuser=True, is_staff=True)
    Membership.objects.filter(user=member.user).delete()
    path(item, member, proof(item, member), yes=True)
    assert untouched(item)


@every_path
@either_word
@pytest.mark.parametrize(
    "leave",
    [
        lambda user: Membership.objects.filter(user=user).delete(),
        lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
        lambda user: Membership.objects.filter(user=user).update(role=Role.VIEWER),
        lambda user: Membership.objects.filter(user=user).update(team=TeamFactory()),
    ],
    ids=["removed", "deactivated", "demoted", "moved"],
)
def test_who_left_after_the_form_was_shown_decides_nothing_with_it(
    item: Approval, approver: Member, path: Path, yes: bool, leave: Callable[[User], Any]
) -> None:
    token = proof(item, approver)
    leave(approver.user)
    path(item, approver, token, yes=yes)
    assert untouched(item)


@page_or_api
@pytest.mark.parametrize(
    "leave",
    [
        lambda user: Membership.objects.filter(user=user).delete(),
        lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
        lambda user: Membership.objects.filter(user=user).update(role=Role.OPERATOR),
        lambda user: Membership.objects.filter(user=user).update(team=TeamFactory()),
    ],
    ids=["removed", "deactivated", "demoted", "moved"],
)
def test_a_yes_of_somebody_who_left_counts_no_more(
    item: Approval, approver: Member, join: Join, leave: Callable[[User], Any], path: Path
) -> None:
    path(item, approver, proof(item, approver), yes=True)
    leave(approver.user)
    second = join()
    path(item, second, proof(item, second), yes=True)
    assert not left(item)
    third = join()
    path(item, third, proof(item, third), yes=True)
    assert left(item)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda user: Membership.objects.filter(user=user).update(role=Role.VIEWER), 403),
        (lambda user: Membership.objects.filter(user=user).update(role=Role.OPERATOR), 403),
        (lambda user: Membership.objects.filter(user=user).update(team=TeamFactory()), 401),
        (lambda user: Membership.objects.filter(user=user).delete(), 401),
        (lambda user: User.objects.filter(pk=user.pk).update(is_active=False), 401),
        (lambda user: user.api_tokens.update(revoked_at=NOW, revoked_by=user), 401),
        (lambda user: user.api_tokens.update(scopes=["read"]), 403),
    ],
    ids=["viewer", "not asked", "moved", "removed", "deactivated", "revoked", "scope"],
)
def test_a_token_from_before_is_worth_what_its_person_is_now(
    item: Approval, approver: Member, change: Callable[[User], Any], status: int
) -> None:
    caller = Caller(*a_token(approver.team, approver.user))
    shown = caller.get(f"/approvals/{item.pk}").json()
    change(approver.user)
    said = {"binding": shown["binding"], "choice": shown["can_be_said"][0]}
    response = caller.post(f"/approvals/{item.pk}/decision", said)
    assert (response.status_code, untouched(item)) == (status, True)


# --- the proof of what was shown


@every_path
@either_word
def test_another_persons_form_is_worth_nothing(
    item: Approval, approver: Member, join: Join, path: Path, yes: bool
) -> None:
    path(item, approver, proof(item, join()), yes=yes)
    path(item, approver, proof(item, join(Role.ADMIN)), yes=yes)
    assert untouched(item)


@every_path
@either_word
def test_another_items_form_is_worth_nothing(
    item: Approval, approver: Member, team: Team, path: Path, yes: bool
) -> None:
    other = ApprovalFactory(input_request__operation__server__team=team)
    path(item, approver, proof(other, approver), yes=yes)
    assert untouched(item)


@every_path
@either_word
def test_a_form_of_an_older_version_is_worth_nothing(
    item: Approval, approver: Member, path: Path, yes: bool
) -> None:
    token = proof(item, approver)
    Approval.objects.update(version=2)
    path(item, approver, token, yes=yes)
    assert untouched(item)


def test_a_form_posted_again_after_it_decided_changes_nothing(
    item: Approval, approver: Member, join: Join
) -> None:
    second = join()
    for member in (approver, second):
        token = proof(item, member)
        for _ in range(3):
            by_page(item, member, token, yes=True)
    assert left(item)
    before = Approval.objects.values().get(pk=item.pk), list(Vote.objects.values())
    for path, yes in product((by_page, by_api, by_verb), (True, False)):
        path(item, second, token, yes=yes)
    assert before == (Approval.objects.values().get(pk=item.pk), list(Vote.objects.values()))


def test_opening_a_link_decides_nothing_whatever_the_address_says(
    item: Approval, approver: Member
) -> None:
    client, word = browser(approver), "approve" if item.kind == Kind.GATE else "accept"
    given = {"choice": word, "binding": proof(item, approver), "reason": "because"}
    several = {"item": str(item.pk), f"binding-{item.pk}": given["binding"], "choice": "approve"}
    page, decide = (reverse(name, args=[item.pk]) for name in ("inbox_item", "inbox_decide"))
    for ask in (client.get, client.head):
        assert ask(page, given).status_code == 200
        assert ask(reverse("inbox_several"), several).status_code == 200
        assert ask(decide, given).status_code == 405
    assert untouched(item)


# --- what is agreed to changes on the way


@page_or_api
@pytest.mark.parametrize(
    "change", [{"identity": "root"}, {"credential": bearer("other")}, {"name": "other"}]
)
def test_a_yes_to_a_call_in_one_name_is_none_to_a_call_in_another(
    item: Approval, approver: Member, join: Join, change: dict[str, Any], path: Path
) -> None:
    path(item, approver, proof(item, approver), yes=True)
    _change(item.operation.server, **change)
    second = join()
    path(item, second, proof(item, second), yes=True)
    assert not left(item)
    path(item, approver, proof(item, approver), yes=True)
    assert left(item)


def test_another_limit_of_the_server_leaves_the_votes_alone(
    item: Approval, approver: Member, join: Join
) -> None:
    by_page(item, approver, proof(item, approver), yes=True)
    _change(item.operation.server, max_in_flight=3)
    second = join()
    by_page(item, second, proof(item, second), yes=True)
    assert left(item)


def _change(server: Server, **change: Any) -> None:
    kind = {"auth_kind": "bearer"} if "credential" in change else {}
    change_server(
        server.pk, **{**as_it_is(server), **kind, **change}, actor=an_admin(server.team), now=NOW
    )


# --- somebody else's name


@page_or_api
@pytest.mark.parametrize(
    "email",
    [
        "APPROVER@example.test",
        "approver+2@example.test",
        "ａpprover@example.test",
        "approver@example.test\u200b",
        '"approver"@example.test',
    ],
)
def test_no_spelling_of_an_address_makes_a_second_voter(
    item: Approval, join: Join, email: str, path: Path
) -> None:
    admin, approver = join(Role.ADMIN), join(user__email="approver@example.test")
    people = User.objects.count()
    form = {"email": email, "name": "Second", "role": "approver", "password": "violet tractor 9"}
    assert browser(admin).post("/team/add/", form).status_code == 422
    assert User.objects.count() == people
    path(item, approver, proof(item, approver), yes=True)
    assert not left(item)


def test_no_line_of_the_product_asks_whether_somebody_is_a_superuser() -> None:
    files = [f for part in ("approvals", "mcpdesk", "tasks_monitor") for f in _lines_of(part)]
    asks = [file for file in files if "is_superuser" in file.read_text()]
    # the manager that makes accounts has to take the word from Django; who is erased loses it
    assert set(asks) == {ROOT / "mcpdesk/accounts/models.py", ROOT / "mcpdesk/keeping/persons.py"}


def _lines_of(part: str) -> list[File]:
    return [f for f in (ROOT / part).glob("**/*.py") if "migrations" not in f.parts]


@page_or_api
def test_a_refusal_stands_also_when_others_said_yes(
    item: Approval, approver: Member, join: Join, path: Path
) -> None:
    path(item, approver, proof(item, approver), yes=True)
    second = join()
    path(item, second, proof(item, second), yes=False)
    third = join()
    path(item, third, proof(item, third), yes=True)
    item.refresh_from_db()
    assert item.state == ApprovalState.DECIDED
    assert item.decided_by == second.user
    assert not left(item)
