"""Lists saved by name: whose they are, who may change them, and what is kept of an address."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import QueryDict
from django.test import Client

from approvals import saved_filters
from approvals.filters import Chosen, Filters, Tab
from approvals.models import SavedFilter
from approvals.outcomes import Missing, Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.audit.models import Event
from tests.approvals.conftest import Join
from tests.engine.racing import locks_off, while_demoted
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db

DEPLOYS = Chosen(Tab.TEAM, Filters(tool="deploy"))


@pytest.fixture
def admin(join: Join) -> Member:
    return join(Role.ADMIN)


def _save(member: Member, name: str = "Deploys", **more: Any) -> Any:
    given = {"query": DEPLOYS.query, "for_team": False, "now": NOW, **more}
    return saved_filters.save(member, name=name, **given)


def _names(member: Member) -> list[str]:
    return [one.name for one in saved_filters.of(member)]


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def test_a_person_keeps_lists_that_nobody_else_sees(approver: Member, join: Join) -> None:
    _save(approver)
    assert [one.query for one in saved_filters.of(approver)] == [DEPLOYS.query]
    assert _names(join()) == []
    assert not Event.objects.exists()


def test_an_admin_keeps_lists_for_everybody_of_the_team_alone(
    admin: Member, approver: Member, join: Join
) -> None:
    _save(admin, for_team=True)
    assert _names(approver) == ["Deploys"]
    assert _names(join(Role.ADMIN, team=TeamFactory())) == []
    assert Event.objects.get().sentence == f"{admin.user} saved the list Deploys for the team"


def test_a_list_is_kept_in_one_team_only(approver: Member, join: Join) -> None:
    _save(approver)
    elsewhere = join(team=TeamFactory(), user=approver.user)
    assert _names(elsewhere) == []


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_admins_touch_the_teams_lists(admin: Member, join: Join, role: Role) -> None:
    saved, member = _save(admin, for_team=True), join(role)
    for verb in (
        lambda: _save(member, "Mine for all", for_team=True),
        lambda: saved_filters.rename(member, saved.pk, name="Other", now=NOW),
        lambda: saved_filters.delete(member, saved.pk, now=NOW),
    ):
        with pytest.raises(PermissionDenied, match="does not allow you"):
            verb()
    assert list(SavedFilter.objects.values_list("name", flat=True)) == ["Deploys"]


def _verb(name: str, admin: Member) -> Callable[[], Any]:
    if name == "save":
        return lambda: _save(admin, for_team=True)
    saved = _save(admin, for_team=True)
    if name == "delete":
        return lambda: saved_filters.delete(admin, saved.pk, now=NOW)
    return lambda: saved_filters.rename(admin, saved.pk, name="Other", now=NOW)


VERBS = pytest.mark.parametrize("name", ["save", "rename", "delete"])


@VERBS
@pytest.mark.django_db(transaction=True)
def test_who_is_demoted_at_that_moment_touches_no_list_of_the_team_and_is_told(
    admin: Member, name: str
) -> None:
    verb = _verb(name, admin)
    before = list(SavedFilter.objects.values())
    told = while_demoted(Membership.objects.get(user=admin.user), verb)
    assert isinstance(told, PermissionDenied) and "does not allow you" in str(told)
    assert list(SavedFilter.objects.values()) == before


@VERBS
@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_who_is_demoted_changes_lists_of_the_team(
    admin: Member, name: str
) -> None:
    verb = _verb(name, admin)
    with locks_off():
        told = while_demoted(Membership.objects.get(user=admin.user), verb)
    assert isinstance(told, SavedFilter)


def test_other_peoples_lists_do_not_exist_for_anybody(admin: Member, approver: Member) -> None:
    saved = _save(approver)
    for outcome in (
        saved_filters.rename(admin, saved.pk, name="Other", now=NOW),
        saved_filters.delete(admin, saved.pk, now=NOW),
    ):
        assert isinstance(outcome, Missing)
    client = _browser(admin)
    for verb in ("rename", "delete"):
        address = f"/inbox/filters/{saved.pk}/{verb}/"
        assert client.post(address, {"name": "Other"}).status_code == 404


def test_a_name_is_one_line_and_stands_once(approver: Member, admin: Member) -> None:
    _save(approver)
    assert _save(approver) == Refused(saved_filters.TAKEN)
    for name in ("x" * 61, "two\nlines", "nul\x00", "hidden\u202e"):
        assert _save(approver, name) == Refused(saved_filters.BAD_NAME)
    assert _save(approver, "  ") == Refused(saved_filters.NO_NAME)
    # another person, or the team, may use the same name
    assert isinstance(_save(admin), SavedFilter)
    assert isinstance(_save(admin, for_team=True), SavedFilter)


def test_renaming_keeps_the_list_and_takes_no_name_that_is_there(approver: Member) -> None:
    saved, _ = _save(approver), _save(approver, "Other")
    assert saved_filters.rename(approver, saved.pk, name="Other", now=NOW) == Refused(
        saved_filters.TAKEN
    )
    saved_filters.rename(approver, saved.pk, name=" Releases ", now=NOW)
    saved_filters.rename(approver, saved.pk, name="Releases", now=NOW)
    assert _names(approver) == ["Other", "Releases"]


def test_deleting_again_finds_nothing(approver: Member) -> None:
    saved = _save(approver)
    assert isinstance(saved_filters.delete(approver, saved.pk, now=NOW), SavedFilter)
    assert isinstance(saved_filters.delete(approver, saved.pk, now=NOW), Missing)


def test_what_admins_do_to_the_teams_lists_is_in_the_log(admin: Member) -> None:
    saved = _save(admin, for_team=True)
    saved_filters.rename(admin, saved.pk, name="Releases", now=NOW)
    saved_filters.delete(admin, saved.pk, now=NOW)
    said = [event.sentence for event in Event.objects.order_by("id")]
    assert said[1:] == [
        f"{admin.user} renamed the team's list Deploys to Releases",
        f"{admin.user} deleted the team's list Releases",
    ]


def test_there_are_so_many_and_no_more(approver: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_filters, "MAX_EACH", 2)
    outcomes = [_save(approver, f"list {number}") for number in range(3)]
    assert [isinstance(one, SavedFilter) for one in outcomes] == [True, True, False]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("locked", "kept"), [(True, 1), (False, 2)])
def test_two_saved_at_the_same_moment_do_not_pass_the_limit_together(
    approver: Member, monkeypatch: pytest.MonkeyPatch, locked: bool, kept: int
) -> None:
    """Each is held before it writes, as far as the lock lets both get there (control: off)."""
    both_counted, create = threading.Barrier(2), SavedFilter.objects.create

    def after_both_counted(**columns: Any) -> SavedFilter:
        # broken: the other one waits for the lock, as it should
        with suppress(threading.BrokenBarrierError):
            both_counted.wait(timeout=1)
        return create(**columns)

    monkeypatch.setattr(saved_filters, "MAX_EACH", 1)
    monkeypatch.setattr(SavedFilter.objects, "create", after_both_counted)
    if not locked:
        monkeypatch.setattr(Team.objects, "select_for_update", lambda **_: Team.objects.all())

    def save(name: str) -> None:
        try:
            _save(approver, name)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(save, ["one", "two"]))
    assert SavedFilter.objects.count() == kept


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("tab=team&tool=x&after=2026_1&evil=1", "tab=team&tool=x"),
        ("tab=nothing&shape=nothing&starter=eve&claimed=maybe&near=no", ""),
        ("starter=12&claimed=me&near=yes&shape=run", "shape=run&starter=12&claimed=me&near=yes"),
        ("starter=" + "9" * 30, ""),
        ("text=%20a%20&server=b%26c", "server=b%26c&text=a"),
        ("tool=" + "x" * 200, "tool=" + "x" * 100),
    ],
)
def test_only_what_means_something_is_kept_of_an_address(
    approver: Member, address: str, kept: str
) -> None:
    chosen = Chosen.read(QueryDict(address)).beginning()
    assert chosen.query == kept
    assert Chosen.read(QueryDict(chosen.query)) == chosen
    assert _save(approver, query=chosen.query).query == kept


def test_filters_that_are_too_long_to_be_kept_are_refused(approver: Member) -> None:
    wide = Filters(server="\U0001f680" * 100, text="\U0001f680" * 100)
    assert _save(approver, query=Chosen(filters=wide).query) == Refused(saved_filters.TOO_LONG)


def test_the_pages_save_show_rename_and_delete(admin: Member) -> None:
    client = _browser(admin)
    save = "/inbox/filters/save/?tab=team&tool=deploy"
    after = client.post(save, {"name": "Deploys", "for_team": "on"})
    assert after["Location"] == "/inbox/?tab=team&tool=deploy"
    listed = client.get("/inbox/").content.decode()
    assert 'href="/inbox/?tab=team&amp;tool=deploy"' in listed
    pk = SavedFilter.objects.get(user=None).pk
    client.post(f"/inbox/filters/{pk}/rename/", {"name": "Releases"})
    assert "Releases" in client.get("/inbox/filters/").content.decode()
    client.post(f"/inbox/filters/{pk}/delete/")
    assert not SavedFilter.objects.exists()


def test_a_refusal_of_the_page_says_why(approver: Member) -> None:
    client = _browser(approver)
    save = client.post("/inbox/filters/save/?tool=x", {"name": ""}, follow=True)
    assert saved_filters.NO_NAME in save.content.decode()
