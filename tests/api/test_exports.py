"""Exports through the API: the file of the page, by token, taken up where it broke off."""

import json
from datetime import timedelta
from typing import Any

import pytest

from mcpdesk.accounts.models import ApiToken, Membership, Role, Team
from mcpdesk.audit.exports import BUSY
from mcpdesk.audit.locks import Busy
from mcpdesk.audit.models import Channel, Event, Export
from tasks_monitor import event_export
from tests.api.calling import Caller, person, service
from tests.factories import (
    NOW,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
)
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return TeamFactory()


@pytest.fixture
def auditor(team: Team) -> Caller:
    server = ServerFactory(team=team)
    for number in range(3):
        at = NOW + timedelta(minutes=number)
        OperationFactory(server=server, reason=f"=release {number}", created_at=at)
    return person(team, Role.AUDITOR)


def _begin(by: Caller, **wanted: Any) -> Any:
    answer = by.post("/exports", {"subject": "operations", **wanted})
    assert answer.status_code == 201, answer.content
    return answer.json()


def _file(by: Caller, export: Any, **query: Any) -> str:
    answer = by.get(f"/exports/{export['id']}/file", **query)
    assert answer.status_code == 200
    return b"".join(answer).decode()


def test_a_file_is_whole_and_who_took_it_is_in_the_log(auditor: Caller) -> None:
    export = _begin(auditor)
    lines = [json.loads(line) for line in _file(auditor, export).splitlines()]
    assert [line["reason"] for line in lines] == [f"=release {number}" for number in range(3)]
    assert "arguments" not in lines[0]
    shown = auditor.get(f"/exports/{export['id']}").json()
    assert (shown["rows"], shown["finished_at"] is None) == (3, False)
    event = Event.objects.get(kind="export.begun")
    assert (event.actor, event.channel) == (auditor.token.user, Channel.API)


def test_it_goes_on_behind_the_last_row_that_was_received(auditor: Caller) -> None:
    export = _begin(auditor)
    first, *rest = _file(auditor, export).splitlines()
    assert _file(auditor, export, after=json.loads(first)["id"]).splitlines() == rest
    nowhere = auditor.get(f"/exports/{export['id']}/file", after="nothing")
    assert nowhere.status_code == 404


def test_formulas_are_disarmed_in_a_table(auditor: Caller) -> None:
    assert ",'=release 0," in _file(auditor, _begin(auditor, format="csv"))


def test_it_is_narrowed_as_the_list_is(auditor: Caller) -> None:
    assert _file(auditor, _begin(auditor, filters={"tool": "another"})) == ""


def test_arguments_are_for_who_may_see_those_of_everybody(auditor: Caller, team: Team) -> None:
    assert '"arguments":' in _file(auditor, _begin(auditor, payloads=True))
    bot = service(team)
    answer = bot.post("/exports", {"subject": "operations", "payloads": True})
    assert answer.status_code == 403
    said = answer.json()["detail"]
    assert said == "A service is not allowed to see this team's arguments and results."
    assert "arguments" not in _file(bot, _begin(bot))


def test_the_export_of_somebody_else_does_not_exist(auditor: Caller, team: Team) -> None:
    export = _begin(auditor)
    mine, others = service(team), [person(team, Role.ADMIN), person(TeamFactory(), Role.ADMIN)]
    for begun, strangers in (
        (export, [mine, *others]),
        (_begin(mine), [auditor, service(team, name="other-bot"), *others]),
    ):
        for other in strangers:
            assert other.get(f"/exports/{begun['id']}").status_code == 404
            assert other.get(f"/exports/{begun['id']}/file").status_code == 404


def test_the_export_of_a_service_bears_its_name_also_after_its_token_is_gone(team: Team) -> None:
    admin = MembershipFactory(team=team, role=Role.ADMIN)
    bot, page = service(team, name="night-bot"), signed_in(admin)
    export = _begin(bot)
    assert bot.get(f"/exports/{export['id']}").json()["begun_by"] == "night-bot"
    assert str(Event.objects.get(kind="export.begun").sentence).startswith("night-bot exports")
    ApiToken.objects.all().delete()
    assert "<span>night-bot</span>" in page.get("/exports/").content.decode()
    assert "Begun by night-bot at" in page.get(f"/exports/{export['id']}/").content.decode()


def test_the_export_of_a_person_bears_theirs(auditor: Caller) -> None:
    assert _begin(auditor)["begun_by"] == str(auditor.token.user)


def test_of_an_export_that_was_begun_before_names_were_kept_it_says_a_service(team: Team) -> None:
    admin = MembershipFactory(team=team, role=Role.ADMIN)
    _begin(service(team))
    Export.objects.update(service="")
    assert "<span>a service</span>" in signed_in(admin).get("/exports/").content.decode()


def test_who_loses_the_right_gets_no_more(auditor: Caller, monkeypatch: Any) -> None:
    export = _begin(auditor)
    answer = auditor.get(f"/exports/{export['id']}/file")
    Membership.objects.filter(user=auditor.token.user).update(role=Role.VIEWER)
    with pytest.raises(PermissionError):
        b"".join(answer)
    assert Export.objects.get().rows == 0


def test_while_the_log_is_being_written_to_a_file_of_it_is_to_be_taken_again(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy() -> int:
        raise Busy

    monkeypatch.setattr(event_export, "settled_up_to", busy)
    caller = person(team, Role.AUDITOR)
    export = _begin(caller, subject="events")
    answer = caller.get(f"/exports/{export['id']}/file")
    assert (answer.status_code, answer.json()["detail"]) == (503, BUSY)
    browser = signed_in(Membership.objects.get(user=caller.token.user))
    page = browser.post(f"/exports/{export['id']}/file/", follow=True)
    assert BUSY in page.content.decode()


def test_a_subject_that_is_none_is_refused(auditor: Caller) -> None:
    assert auditor.post("/exports", {"subject": "secrets"}).status_code == 422
