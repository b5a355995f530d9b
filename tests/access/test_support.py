"""The support pages as everybody: they open to staff with a second factor, and only to reading.

The rows are made from the site's registry (expected.of_support), so that what is registered
tomorrow is asked too.
"""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client

from mcpdesk.accounts.models import SupportGrant, User
from mcpdesk.encryption import EncryptedJSONField
from mcpdesk.support.reading import ReadOnlyAdmin
from mcpdesk.support.rows import site
from tests.access.actors import DEACTIVATED, NOBODY, SUPERUSER, Actor
from tests.access.asking import METHODS, SIGN_IN, Answer, ask, unread
from tests.access.expected import ROWS, Staff
from tests.access.household import Household
from tests.access.planted import Planted
from tests.access.snapshot import changed, snapshot, undone
from tests.access.world import World
from tests.support.staff import make_staff, signed_in

pytestmark = pytest.mark.django_db

SUPPORT = {route: row for route, row in ROWS.items() if isinstance(row, Staff)}
MODELS = list(site._registry)
#: What support may read of all that is planted in a team: names.
NAMES = {"person", "server", "held server", "tool", "channel"}
#: What Django's admin would do at these addresses beneath each list and row.
FORMS = ("add/", "{pk}/delete/", "{pk}/history/", "{pk}/password/", "{pk}/")


@pytest.fixture(scope="module")
def staff(world: World) -> Client:
    return signed_in(make_staff())


@pytest.fixture(autouse=True)
def _nothing_stays(world: World) -> Iterator[None]:
    with undone():
        yield


def _row(model: type[Model], household: Household) -> Model | None:
    rows = site._registry[model]
    path = rows.team_path or "pk__isnull"
    value = household.team.pk if rows.team_path else False
    return model._default_manager.filter(**{path: value}).first()


def _address(world: World, route: str, row: Staff, of: str = "here") -> str:
    if row.model is None:
        return f"/{route}".replace("<slug:app_label>", "accounts")
    found = _row(row.model, getattr(world, of))
    return f"/{route}".replace("<path:object_id>", str(found.pk if found else "none"))


def _status(client: Client, method: str, address: str) -> int:
    return int(getattr(client, method.lower())(address).status_code)


def _answer_to(name: str) -> int:
    """Staff (and superuser) without a second factor is told so; for others there is nothing."""
    if name in (NOBODY, DEACTIVATED):
        return 302
    return 403 if name == SUPERUSER else 404


@pytest.mark.parametrize("route", SUPPORT)
def test_nobody_else_is_let_in_whatever_their_role(world: World, route: str) -> None:
    address, before, wrong = _address(world, route, SUPPORT[route]), snapshot(), []
    for name, actor in world.cast.items():
        for method in ("GET", "POST"):
            answer = ask(world, actor, method, address)
            if answer.status != _answer_to(name) or unread(answer, actor):
                wrong.append(f"{name}: {method} {address} is {answer.status}")
            if answer.status == 302 and answer.leads_to != SIGN_IN:
                wrong.append(f"{name}: {method} {address} leads to {answer.leads_to}")
    assert not wrong, "\n".join(wrong)
    assert changed(before) == []


@pytest.mark.parametrize("route", SUPPORT)
def test_every_permission_of_django_and_superuser_together_open_nothing(
    world: World, route: str
) -> None:
    user = make_staff(is_superuser=True)
    User.objects.filter(pk=user.pk).update(is_staff=False)
    user.user_permissions.set(Permission.objects.all())
    answer = signed_in(user).get(_address(world, route, SUPPORT[route]))
    assert answer.status_code == 404


@pytest.mark.parametrize("route", SUPPORT)
def test_staff_read_what_a_team_let_them_and_nothing_is_taken_but_reading(
    world: World, staff: Client, route: str
) -> None:
    address, before = _address(world, route, SUPPORT[route]), snapshot()
    there = "none" not in address
    for method in METHODS:
        status = _status(staff, method, address)
        if method in ("GET", "HEAD"):
            assert status == (200 if there else 404), method
        else:
            assert status == 405, method
    # each look is an event, and nothing else was written
    assert set(changed(before)) <= {"audit_event"}


@pytest.mark.parametrize("model", MODELS)
def test_no_form_of_djangos_admin_is_there(world: World, staff: Client, model: type[Model]) -> None:
    place = f"/support/{model._meta.app_label}/{model._meta.model_name}/"
    found, before = _row(model, world.here), snapshot()
    for form in FORMS:
        address = place + form.format(pk=found.pk if found else 1)
        for method in ("GET", "POST"):
            assert _status(staff, method, address) == 404, (method, address)
    for form in ("/support/login/", "/support/logout/", "/support/password_change/"):
        assert _status(staff, "POST", form) in (404, 405)
    assert changed(before) == []


@pytest.mark.parametrize("model", MODELS)
def test_an_action_or_a_changed_row_sent_to_a_list_is_refused(
    world: World, staff: Client, model: type[Model]
) -> None:
    place, found = f"/support/{model._meta.app_label}/{model._meta.model_name}/", "1"
    before = snapshot()
    form = {"action": "delete_selected", "_selected_action": found, "post": "yes", "_save": "1"}
    assert staff.post(place, form).status_code == 405
    assert changed(before) == []


@pytest.mark.parametrize("model", MODELS)
def test_what_is_registered_has_no_right_to_change_anything(
    world: World, staff: Client, model: type[Model]
) -> None:
    rows = site._registry[model]
    assert isinstance(rows, ReadOnlyAdmin)
    request = staff.get("/support/").wsgi_request
    for part in (rows, *rows.get_inline_instances(request)):
        assert part.has_view_permission(request)
        assert not part.has_add_permission(request, None) if part is not rows else True
        assert not part.has_change_permission(request)
        assert not part.has_delete_permission(request)
    assert not rows.has_add_permission(request)
    assert rows.get_actions(request) == {}


def _wrong(answer: Answer, said: str) -> list[str]:
    wrong = [f"{said} shows {one}" for one in answer.found if not _is_name(one)]
    if answer.has_markup or answer.hides:
        wrong.append(f"{said} shows what somebody wrote as it is")
    return wrong


def _is_name(planted: Planted) -> bool:
    return planted.thing == "team" and planted.label in NAMES


@pytest.mark.parametrize("model", MODELS)
def test_no_list_and_no_row_shows_what_was_said_or_is_secret(
    world: World, staff: Client, model: type[Model]
) -> None:
    place, wrong = f"/support/{model._meta.app_label}/{model._meta.model_name}/", []
    rows = model._default_manager.values_list("pk", flat=True)
    lists = [f"?team={house.team.pk}" for house in (world.here, world.elsewhere)]
    if not site._registry[model].list_filter:
        lists = [""]
    actor = Actor("support staff", None, staff)
    for part in [*lists, *(f"{row}/change/" for row in rows)]:
        answer = ask(world, actor, "GET", place + part)
        assert answer.status == 200, part
        wrong += _wrong(answer, place + part)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("model", [model for model in MODELS if site._registry[model].team_path])
def test_a_team_that_let_nobody_in_has_no_rows(
    world: World, staff: Client, model: type[Model]
) -> None:
    """Neither in a list, nor by its address, nor in the other team's list."""
    SupportGrant.objects.filter(team=world.elsewhere.team).delete()
    place, foreign = f"/support/{model._meta.app_label}/{model._meta.model_name}/", world.elsewhere
    row = _row(model, foreign)
    assert row is not None and _row(model, world.here) is not None, "the world has no such row"
    assert staff.get(f"{place}{row.pk}/change/").status_code == 404
    for query in ("", f"?team={foreign.team.pk}", f"?q={row.pk}"):
        body = staff.get(place + query).content.decode()
        assert f"{row.pk}/change/" not in body
    assert staff.get(f"{place}{_row(model, world.here).pk}/change/").status_code == 200  # type: ignore[union-attr]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_encrypted_is_not_even_read(
    world: World, staff: Client, model: type[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("an encrypted column was read")

    found = _row(model, world.here)
    monkeypatch.setattr(EncryptedJSONField, "from_db_value", never)
    place = f"/support/{model._meta.app_label}/{model._meta.model_name}/"
    assert staff.get(place).status_code == 200
    if found is not None:
        assert staff.get(f"{place}{found.pk}/change/").status_code == 200
