"""The page that says how long things are kept, and what pages of a deleted call say."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from approvals import comments
from approvals.models import Comment
from approvals.outcomes import Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import LegalHold
from mcpdesk.keeping import holds, runs, settings
from mcpdesk.keeping.settings import Kept
from tasks_monitor.engine import hold as stop
from tasks_monitor.engine.errors import Refused as NotStarted
from tasks_monitor.engine.start import repeated
from tasks_monitor.models import Operation
from tests.factories import NOW, MembershipFactory
from tests.keeping.full import MARK, full_operation, holding
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/team/retention/"


@pytest.fixture
def client(admin: Member) -> Client:
    return signed_in(Membership.objects.get(user=admin.user))


@pytest.fixture
def old(team: Team, admin: Member) -> Operation:
    return full_operation(team, by=admin.user, ended=timezone.now() - timedelta(days=31))


class TestSetting:
    def test_what_would_delete_nothing_is_set_at_once(self, client: Client, team: Team) -> None:
        answer = client.post(PAGE, {"payload_days": "30", "log_days": ""}, follow=True)
        assert settings.of(team.pk) == Kept(30, None)
        assert "Set." in answer.content.decode()

    def test_what_would_delete_something_is_shown_first_and_set_when_confirmed(
        self, client: Client, team: Team, old: Operation
    ) -> None:
        wanted = {"payload_days": "30", "log_days": ""}
        shown = client.post(PAGE, wanted).content.decode()
        assert "Nothing is set yet" in shown and "1 operation carried" in shown
        assert "comments: 1" in shown
        assert settings.of(team.pk) == Kept()
        client.post(PAGE, {**wanted, "confirmed": "yes"})
        assert settings.of(team.pk) == Kept(30, None)
        assert len(holding(MARK)) == 20

    def test_a_dry_run_sets_nothing(self, client: Client, team: Team, old: Operation) -> None:
        shown = client.post(PAGE, {"payload_days": "30", "look": "yes"}).content.decode()
        assert "This would be deleted" in shown and "confirmed" not in shown
        shown = client.post(PAGE, {"payload_days": "99", "look": "yes"}).content.decode()
        assert "Nothing would go now" in shown
        assert settings.of(team.pk) == Kept()

    @pytest.mark.parametrize("days", ["6", "-1", "36501", "x", "1e3"])
    def test_what_is_out_of_bounds_is_said_at_its_field(
        self, client: Client, team: Team, days: str
    ) -> None:
        answer = client.post(PAGE, {"payload_days": days})
        assert answer.status_code == 422
        assert "id_payload_days_error" in answer.content.decode()
        assert settings.of(team.pk) == Kept()


class TestHolds:
    def test_one_is_begun_listed_and_ended(
        self, client: Client, team: Team, old: Operation
    ) -> None:
        client.post(f"{PAGE}holds/", {"operation": str(old.pk), "reason": "The court asks"})
        hold = LegalHold.objects.get()
        assert "The court asks" in client.get(PAGE).content.decode()
        assert "is under a legal hold" in client.get(f"/operations/{old.pk}/").content.decode()
        client.post(f"{PAGE}holds/{hold.pk}/end/", {"reason": "It is settled"})
        assert "It is settled" in client.get(PAGE).content.decode()
        assert "is under a legal hold" not in client.get(f"/operations/{old.pk}/").content.decode()

    def test_it_is_not_said_to_stop_anything_that_is_sent(
        self, client: Client, team: Team, actor: Actor
    ) -> None:
        holds.begin(team, None, reason="The court asks", actor=actor, now=NOW)
        assert "On hold: nothing is sent" not in client.get(PAGE).content.decode()
        stop.begin(team.pk, None, reason="It deletes too much", actor=actor, now=NOW)
        page = client.get(PAGE).content.decode()
        banner = page[page.index('<div id="holds"') : page.index("<h1>")]
        assert "It deletes too much" in banner
        assert "The court asks" not in banner

    def test_what_is_refused_is_said_and_nothing_changes(self, client: Client, team: Team) -> None:
        unknown = {"operation": "00000000-0000-4000-8000-000000000000", "reason": "x"}
        for form, sentence in [({"reason": ""}, "required"), (unknown, "no such operation")]:
            answer = client.post(f"{PAGE}holds/", form)
            assert answer.status_code == 422 and sentence in answer.content.decode()
        assert not LegalHold.objects.exists()
        client.post(f"{PAGE}holds/", {"reason": "court"})
        address = f"{PAGE}holds/{LegalHold.objects.get().pk}/end/"
        assert "Say why" in client.post(address, follow=True).content.decode()
        assert LegalHold.objects.get().ended_at is None

    def test_why_is_shown_to_those_who_read_the_whole_history(
        self, team: Team, actor: Actor, old: Operation
    ) -> None:
        holds.begin(team, None, reason="The court asks", actor=actor, now=NOW)
        for role, shown in [(Role.AUDITOR, True), (Role.OPERATOR, False)]:
            reader = signed_in(MembershipFactory(team=team, role=role))
            page = reader.get(f"/operations/{old.pk}/").content.decode()
            assert "is under a legal hold" in page
            assert ("The court asks" in page) is shown


class TestAfterwards:
    @pytest.fixture
    def deleted(self, team: Team, actor: Actor, old: Operation) -> Operation:
        settings.change(team, Kept(30, None), actor=actor, now=NOW)
        runs.run(team, timezone.now())
        old.refresh_from_db()
        return old

    def test_the_pages_say_when_and_why(self, client: Client, deleted: Operation) -> None:
        item = deleted.approvals.get()
        for address in (f"/operations/{deleted.pk}/", f"/inbox/{item.pk}/"):
            page = client.get(address).content.decode()
            assert "What this call carried was deleted on" in page
            assert "keeps payloads for 30 days" in page
            assert MARK not in page

    def test_nothing_new_is_said_there(self, admin: Member, deleted: Operation) -> None:
        item = deleted.approvals.get()
        said = comments.add(item.pk, member=admin, text=MARK, now=timezone.now())
        assert said == Refused(comments.DELETED)
        assert not Comment.objects.exists()

    def test_the_same_request_with_its_key_is_still_the_same_operation(
        self, deleted: Operation
    ) -> None:
        Operation.objects.filter(pk=deleted.pk).update(idempotency_key="k")
        same = {"team_id": deleted.team_id, "server_id": deleted.server_id}
        same |= {"idempotency_key": "k", "arguments": {"any": 1}}
        assert repeated(tool_name=deleted.tool_name, **same) == deleted
        with pytest.raises(NotStarted, match="different request"):
            repeated(tool_name="another", **same)
