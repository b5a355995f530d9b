"""What forms may not do: without the desk's token, or with ids of another team in their body."""

import json
from typing import Any

import pytest
from django.apps import apps
from django.db.models import Model
from django.test import Client

from mcpdesk.accounts.models import Role, User
from mcpdesk.accounts.sessions import TEAM_KEY
from mcpdesk.encryption import EncryptedJSONField
from tests.access.actors import ADMIN, EVERYBODY, FOREIGNER
from tests.access.asking import addresses, ask, quiet, unread
from tests.access.expected import ROWS, Row
from tests.access.planted import Garden
from tests.access.snapshot import changed, snapshot, undone
from tests.access.world import World

pytestmark = pytest.mark.django_db

POSTS = {route: row for route, row in ROWS.items() if isinstance(row, Row) and row.post}


@pytest.mark.parametrize("route", POSTS)
def test_a_form_of_another_site_is_refused(world: World, route: str) -> None:
    """Signed in as an admin, with everything but the token that only the desk's pages hold."""
    row, before = POSTS[route], snapshot()
    admin, strict = world.cast[ADMIN], Client(enforce_csrf_checks=True)
    strict.cookies = admin.client.cookies
    with undone():
        answer = strict.post(addresses(world, admin, route, row)[0], {"binding": "x"})
        assert answer.status_code == 403, answer.status_code
        assert changed(before) == []


@pytest.mark.parametrize("model", apps.get_models())
def test_every_encrypted_field_of_the_desk_holds_a_mark(world: World, model: type[Model]) -> None:
    """Else a page could show what is in it without any test here seeing it."""
    for column in (f for f in model._meta.get_fields() if isinstance(f, EncryptedJSONField)):
        values = model._default_manager.values_list(column.name, flat=True)
        assert any(world.garden.found_in(str(value)) for value in values), (
            f"plant a mark in {model.__name__}.{column.name} (tests/access/world.py)"
        )


def test_a_rule_names_no_one_of_another_team(world: World) -> None:
    rule = POSTS["policies/new/"].form
    person = str(world.elsewhere.ids["person"])
    for people in (
        {"starter": "people", "starter_people": person},
        {"effect": "ask", "audience": "people", "people": person},
    ):
        answer = quiet(world, world.cast[ADMIN], "POST", "/policies/new/", form={**rule, **people})
        assert answer.status == 422


def test_a_call_is_tried_on_for_nobody_of_another_team(world: World) -> None:
    form = {**POSTS["policies/try/"].form, "starter": str(world.elsewhere.ids["person"])}
    assert quiet(world, world.cast[ADMIN], "POST", "/policies/try/", form=form).status == 422


def _refused(world: World, address: str, form: dict[str, str]) -> None:
    """An admin's form that names somebody of another team changes nothing, and tells nothing."""
    before = snapshot()
    with undone():
        answer = ask(world, world.cast[ADMIN], "POST", address, form=form)
        assert changed(before) == []
    assert not unread(answer, world.cast[ADMIN])


def test_nobody_of_another_team_is_away_or_stands_in(world: World) -> None:
    away, foreign = POSTS["away/add/"].form, str(world.elsewhere.ids["person"])
    for name in ("person", "stand_in"):
        assert name in away
        _refused(world, "/away/add/", {**away, name: foreign})


def test_an_item_is_handed_to_nobody_of_another_team(world: World) -> None:
    foreign = str(world.elsewhere.ids["person"])
    _refused(world, f"/inbox/{world.here.ids['question']}/hand/", {"to": foreign})


def test_a_policy_file_names_nobody_of_another_team(world: World) -> None:
    """What is said of them is what is said of an address that nobody has."""
    admin, said = world.cast[ADMIN], []
    stranger = User.objects.get(pk=world.elsewhere.ids["person"]).email
    for email in (stranger, "nobody@example.test"):
        rule = {"name": "new", "effect": "ask", "ask": {"audience": "people", "people": [email]}}
        text = json.dumps({"mcpdesk_policy": 1, "rules": [rule]})
        answer = quiet(world, admin, "POST", "/policies/import/", form={"text": _braced(text)})
        assert not unread(answer, admin)
        said.append(answer.response.content.decode().replace(email, "them").count("them"))
        assert answer.status == 422
    assert said[0] == said[1]


def _braced(text: str) -> str:
    """As it has to stand in a form of the matrix, where braces name things."""
    return text.replace("{", "{{").replace("}", "}}")


@pytest.mark.parametrize(
    "away", ["//evil.example/", "https://evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_signing_in_and_out_leads_to_no_other_site(world: World, away: str) -> None:
    person = world.cast[ADMIN].user
    assert person is not None
    with undone():
        client = Client()
        form = {"login": person.email, "password": "correct horse battery", "next": away}
        signed_in = client.post("/accounts/login/", form)
        signed_out = client.post("/accounts/logout/", {"next": away})
    for answer in (signed_in, signed_out):
        assert answer.status_code == 302
        assert answer["Location"].startswith("/")
        assert not answer["Location"].startswith(("//", "/\\"))


def test_somebody_elses_saved_list_is_nobodys_to_change(world: World) -> None:
    for role in EVERYBODY:
        for what in ("rename", "delete"):
            address = f"/inbox/filters/{world.here.ids['own list']}/{what}/"
            before = snapshot()
            answer = quiet(world, world.cast[role], "POST", address, form={"name": "Mine"})
            assert (answer.status, changed(before)) == (404, [])


def test_a_list_for_the_team_is_saved_by_admins_only(world: World) -> None:
    for role in EVERYBODY:
        before = snapshot()
        with undone():
            world.cast[role].client.post("/inbox/filters/save/", {"name": "X", "for_team": "on"})
            assert bool(changed(before)) == (role == ADMIN)


def test_no_team_is_looked_at_that_one_is_not_in(world: World) -> None:
    foreigner = world.cast[FOREIGNER]
    with undone():
        foreigner.client.post("/team/switch/", {"team": str(world.here.team.pk)})
        assert foreigner.client.session.get(TEAM_KEY) != world.here.team.pk


def test_a_team_that_a_session_was_made_to_name_shows_nothing(world: World) -> None:
    foreigner = world.cast[FOREIGNER]
    with undone():
        session = foreigner.client.session
        session[TEAM_KEY] = world.here.team.pk
        session.save()
        answer = quiet(world, foreigner, "GET", "/inbox/?tab=team")
    assert all(FOREIGNER in one.readers for one in answer.found)


#: Columns that no form of the desk has, sent along with every form there is.
MORE: dict[str, Any] = {
    "team": "1",
    "team_id": "1",
    "pk": "1",
    "id": "1",
    "user": "1",
    "is_superuser": "on",
    "is_staff": "on",
    "is_active": "on",
    "four_eyes": "",
    "state": "decided",
    "decided_by": "1",
    "started_by": "1",
    "version": "1",
    "audience": "approvers",
}


def test_more_columns_in_ones_profile_are_not_taken(world: World) -> None:
    viewer = world.cast[Role.VIEWER]
    with undone():
        form = {**POSTS["profile/"].form, **MORE, "email": "boss@example.test"}
        viewer.client.post("/profile/", form)
        user = viewer.user
        assert user is not None
        email = user.email
        user.refresh_from_db()
        assert (user.name, user.email) == ("New name", email)
        assert not (user.is_superuser or user.is_staff)


def test_a_member_that_is_added_is_nothing_but_that(world: World) -> None:
    with undone():
        world.cast[ADMIN].client.post("/team/add/", {**POSTS["team/add/"].form, **MORE})
        added = world.here.team.memberships.get(user__email="new@example.test")
        assert (added.role, added.user.is_superuser, added.user.is_staff) == (
            "viewer",
            False,
            False,
        )


def test_a_mark_is_found_in_any_text() -> None:
    garden = Garden()
    mark = garden.plant("thing", "label", ("viewer",))
    assert [one.label for one in garden.found_in(f'<a href="/x?y={mark}">')] == ["label"]
