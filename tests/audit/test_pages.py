"""The pages of the log: who reads what, filters, the state of the seals, the files."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team, User
from mcpdesk.audit import passes
from mcpdesk.audit.canonical import commitment
from mcpdesk.audit.event_filters import EventFilters
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.audit.models import Channel, Event, Verification
from mcpdesk.audit.sealing import seal_due
from mcpdesk.audit.selectors import events
from tests.audit.conftest import Happen, attack, seal
from tests.factories import NOW, MembershipFactory, OperationFactory, TeamFactory

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def auditor(team: Team, nina: User) -> Member:
    MembershipFactory(team=team, user=nina, role=Role.AUDITOR)
    return Member(nina, team, Role.AUDITOR)


@pytest.fixture
def desk(client: Client, auditor: Member) -> Client:
    client.force_login(auditor.user)
    return client


def ids(member: Member, **filters: str) -> list[int]:
    found = events(member, EventFilters.read(filters))
    return list(found.order_by("id").values_list("id", flat=True))


class TestFilters:
    @pytest.fixture
    def days(self, happen: Happen, team: Team) -> list[list[int]]:
        """Three days, the first two of them sealed."""
        made = []
        for day in range(3):
            made.append([event.pk for event in happen(3, at=NOW + day * DAY)])
            if day < 2:
                seal(NOW + day * DAY)
        return made

    def test_who(self, auditor: Member, days: list[list[int]], nina: User) -> None:
        assert ids(auditor, who=str(nina.pk)) == [day[0] for day in days]
        assert ids(auditor, who="nobody") == [pk for day in days for pk in day[1:]]

    def test_what_where_and_how(self, auditor: Member, days: list[list[int]]) -> None:
        assert ids(auditor, kind="member.added") == [day[0] for day in days]
        assert ids(auditor, server="4") == [pk for day in days for pk in day[1:]]
        assert ids(auditor, channel="web") == [day[0] for day in days]
        assert ids(auditor, channel="api") == []

    @pytest.mark.parametrize(
        ("since", "until", "wanted"),
        [
            ("2026-11-29", "", [0, 1, 2]),
            ("2026-11-30", "", [1, 2]),
            ("2026-12-01", "", [2]),
            ("2026-12-02", "", []),
            ("", "2026-11-28", []),
            ("", "2026-11-29", [0]),
            ("", "2026-11-30", [0, 1]),
            ("", "2026-12-01", [0, 1, 2]),
            ("2026-11-30", "2026-11-30", [1]),
            ("2026-11-29T14:00:01Z", "2026-11-29T14:00:01Z", []),
        ],
    )
    def test_days_sealed_or_not(
        self, auditor: Member, days: list[list[int]], since: str, until: str, wanted: list[int]
    ) -> None:
        found = ids(auditor, since=since, until=until)
        if since == "2026-11-29T14:00:01Z":
            assert found == [days[0][1]]
        else:
            assert found == [pk for day in wanted for pk in days[day]]

    def test_days_where_a_clock_was_wrong(
        self, auditor: Member, team: Team, days: list[list[int]], happen: Happen
    ) -> None:
        """Ids that are not in the order of their times: nothing is left out."""
        (early,) = happen(at=NOW - 40 * DAY)
        assert ids(auditor, until="2026-11-01") == [early.pk]
        seal(NOW + 3 * DAY)
        assert ids(auditor, until="2026-11-01") == [early.pk]
        (late,) = happen(at=NOW + DAY)
        seal(NOW + 3 * DAY)
        assert ids(auditor, since="2026-11-30", until="2026-11-30") == [*days[1], late.pk]

    def test_about_an_operation_or_an_item(self, auditor: Member, team: Team) -> None:
        operation, item = uuid4(), uuid4()
        with transaction.atomic():
            about = {"team_id": team.pk, "actor": DESK, "now": NOW, "operation_id": operation}
            first = record("call.held", **about)
            second = record("approval.snoozed", approval_id=item, **about)
        assert ids(auditor, about=str(operation)) == [first.pk, second.pk]
        assert ids(auditor, about=str(item)) == [second.pk]
        assert ids(auditor, about=str(uuid4())) == []

    def test_what_means_nothing_does_not_narrow(self, auditor: Member) -> None:
        given = {"who": "x", "kind": "no.kind", "server": "9" * 30, "about": "1", "channel": "x"}
        filters = EventFilters.read({**given, "since": "yesterday", "until": "9999-12-31"})
        assert not filters.narrow
        assert filters.query == ""

    def test_an_address_keeps_its_filters(self) -> None:
        given = {"kind": "member.added", "since": "2026-11-29", "who": "nobody"}
        assert EventFilters.read(given).query == "who=nobody&kind=member.added&since=2026-11-29"


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ({}, "event_by_team audit_event_pkey"),
        ({"who": "{nina}"}, "event_by_actor"),
        ({"kind": "member.added"}, "event_by_kind"),
        ({"server": "77"}, "event_by_server"),
        ({"channel": "api"}, "event_by_channel"),
        ({"channel": "clock"}, "event_by_channel"),
        ({"about": "6ec5fee1-487a-44bf-9c2c-6e155c12cb6f"}, "event_by_approval"),
        ({"since": "2026-11-30", "until": "2026-11-30"}, "event_by_team audit_event_pkey"),
    ],
)
def test_each_filter_has_an_index(
    auditor: Member, happen: Happen, query: dict[str, str], index: str
) -> None:
    """In a log in which what is looked for is rare; each list is read along an index, unsorted."""
    happen(60)
    happen(600, of=TeamFactory())
    seal(NOW)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE audit_event")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = %s", ["on" if "about" in query else "off"])
    given = {name: value.format(nina=auditor.user_id) for name, value in query.items()}
    plan = events(auditor, EventFilters.read(given)).order_by("-pk")[:51].explain()
    # of half the table, either of two serves
    assert any(name in plan for name in index.split()), plan
    assert "Seq Scan on audit_event" not in plan
    assert ("Sort" in plan) == ("about" in query)


class TestTheLog:
    def test_it_shows_sentences_with_links_the_latest_first(
        self, desk: Client, team: Team, auditor: Member
    ) -> None:
        operation = OperationFactory(server__team=team)
        with transaction.atomic():
            record("approval.snoozed", team_id=team.pk, actor=Actor.person(auditor), now=NOW)
            record("call.held", team_id=team.pk, actor=DESK, now=NOW, operation_id=operation.pk)
        _, _, text = desk.get("/audit/").text.partition("audit-log")
        assert "Nina Köhler put it aside for now" in text
        assert f"/operations/{operation.pk}/" in text
        assert text.index("On hold") < text.index("put it aside")

    def test_another_teams_events_are_not_in_it(self, desk: Client, happen: Happen) -> None:
        happen(2, of=TeamFactory())
        assert "Óscar" not in desk.get("/audit/").text

    def test_pages_go_both_ways(
        self, desk: Client, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcpdesk.web.views.audit.EVENTS_A_PAGE", 2)
        happen(5)
        first = desk.get("/audit/", {"server": "4"})
        older = desk.get(f"/audit/?server=4&at={first.context['page'].after}")
        newer = desk.get(f"/audit/?server=4&at={older.context['page'].before}")
        assert [e.pk for e in newer.context["page"].rows] == [
            e.pk for e in first.context["page"].rows
        ]
        assert not older.context["page"].after

    def test_its_queries_do_not_grow(
        self, desk: Client, happen: Happen, django_assert_num_queries: Callable[..., Any]
    ) -> None:
        desk.get("/audit/")
        happen()
        seal()
        with CaptureQueriesContext(connection) as few:
            desk.get("/audit/?since=2026-11-01&until=2026-11-30")
        happen(90)
        seal()
        with django_assert_num_queries(len(few)):
            desk.get("/audit/?since=2026-11-01&until=2026-11-30")
        assert len(few) <= 20

    def test_an_erased_person_is_nobody(self, desk: Client, team: Team) -> None:
        name = f"erased:{commitment(uuid4(), 'x')}"
        with transaction.atomic():
            record(
                "approval.snoozed", team_id=team.pk, actor=Actor(None, name, Channel.WEB), now=NOW
            )
        text = desk.get("/audit/").text
        assert "(an erased person) put it aside" in text
        assert name not in text

    @pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.OPERATOR])
    def test_it_is_for_auditors_and_admins(self, desk: Client, role: Role, team: Team) -> None:
        team.memberships.update(role=role)
        assert desk.get("/audit/").status_code == 403
        assert not Event.objects.filter(kind="audit.read").exists()

    def test_reading_it_is_an_event_once_in_a_while(self, desk: Client) -> None:
        with time_machine.travel(timezone.now(), tick=False) as clock:
            for minutes, noted in ((0, 1), (14, 1), (1, 2)):
                clock.shift(timedelta(minutes=minutes))
                desk.get("/audit/")
                assert Event.objects.filter(kind="audit.read").count() == noted


class TestSeals:
    def test_the_page_says_up_to_when_it_is_sealed_and_verified(
        self, desk: Client, happen: Happen
    ) -> None:
        happen(2)
        assert "Nothing is sealed yet" in desk.get("/audit/").text
        seal_due(NOW)
        assert "not verified yet" in desk.get("/audit/").text
        passes.go_on(lambda: NOW)
        for address in ("/audit/", "/audit/seals/"):
            assert "Sealed and verified up to" in desk.get(address).text

    def test_a_line_that_was_changed_is_named_on_both_pages(
        self, desk: Client, happen: Happen
    ) -> None:
        (event,) = happen()
        seal()
        attack("UPDATE audit_event SET channel = 'api'")
        passes.go_on(lambda: NOW)
        for address in ("/audit/", "/audit/seals/"):
            text = desk.get(address).text
            assert f"Event {event.pk} of 2026-11-29T14:00:00" in text
            assert "It was never found whole." in text
            assert "Sealed and verified up to" not in text

    def test_of_what_is_wrong_now_it_is_said_when_it_was_whole_last(
        self, desk: Client, team: Team, happen: Happen
    ) -> None:
        happen()
        seal(NOW)
        passes.go_on(lambda: NOW + timedelta(minutes=2))
        attack("UPDATE audit_event SET channel = 'api'")
        passes.begin_again(team.pk, NOW + timedelta(hours=1))
        passes.go_on(lambda: NOW + timedelta(hours=1))
        said = desk.get("/audit/").text.partition("It was last found whole at")[2]
        at, up_to, *_ = re.findall(r'datetime="([^"]+)"', said)
        assert at.startswith("2026-11-29T14:02:00")
        assert up_to.startswith("2026-11-29T14:00:00")

    def test_verify_now_begins_and_the_page_shows_how_far_it_came(
        self, desk: Client, happen: Happen, team: Team
    ) -> None:
        happen()
        seal()
        passes.go_on(lambda: NOW)
        assert desk.post("/audit/verify/").status_code == 302
        assert Verification.objects.get(team=team).finished_at is None
        assert Event.objects.filter(kind="audit.verify_asked").count() == 1
        assert "<progress" in desk.get("/audit/state/").text
        passes.go_on(timezone.now)
        assert "<progress" not in desk.get("/audit/state/").text

    def test_they_go_on_on_further_pages(
        self, desk: Client, happen: Happen, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcpdesk.web.views.audit.SEALS_A_PAGE", 2)
        for _ in range(3):
            happen()
            seal()
        first = desk.get("/audit/seals/")
        assert [one.number for one in first.context["seals"]] == [3, 2]
        second = desk.get(f"/audit/seals/?before={first.context['older']}")
        assert [one.number for one in second.context["seals"]] == [1]
        assert second.context["older"] is None

    def test_the_files_are_events_too(self, desk: Client, happen: Happen, team: Team) -> None:
        happen(3)
        seal()
        seals = desk.post("/audit/seals/seals.ndjson")
        lines = [json.loads(line) for line in b"".join(seals).splitlines()]
        assert lines[0]["what"] == "mcpdesk seals 1"
        assert [line["seal"]["number"] for line in lines[1:]] == [1]
        found = desk.post("/audit/seals/events.ndjson")
        assert b"".join(found).count(b'"kind":') == 5
        assert "attachment" in seals["Content-Disposition"]
        what = [e.data["what"] for e in Event.objects.filter(kind="audit.exported").order_by("id")]
        assert what == ["the seals", "all events with what verifies them"]

    @pytest.mark.parametrize("name", ["seals", "events"])
    def test_who_may_not_read_it_any_more_gets_no_more_of_a_file(
        self, desk: Client, happen: Happen, team: Team, name: str
    ) -> None:
        happen(3)
        seal()
        parts = desk.post(f"/audit/seals/{name}.ndjson").streaming_content

        @async_to_sync
        async def read() -> None:
            assert await anext(parts)
            await sync_to_async(team.memberships.update)(role=Role.VIEWER)
            with pytest.raises(PermissionError):
                await anext(parts)

        read()


def test_the_export_holds_what_the_page_shows(desk: Client, happen: Happen) -> None:
    shown = [event for event in happen(5) if event.kind == "task.changed"]
    begun = desk.post("/exports/new/events/?kind=task.changed", {"format": "ndjson"})
    file = desk.post(f"{begun['Location']}file/")
    rows = [json.loads(line) for line in b"".join(file).splitlines()]
    assert [row["id"] for row in rows] == [event.pk for event in shown]
    assert [row["words"] for row in rows] == [event.sentence for event in shown]
    assert rows[0]["data"] == {"status": "working", "polls": 1}
