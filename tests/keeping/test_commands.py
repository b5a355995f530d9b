"""The commands: dry runs that change nothing, and the same verbs and refusals as the pages."""

from datetime import timedelta
from io import StringIO
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event, LegalHold
from mcpdesk.keeping import commands, settings
from mcpdesk.keeping.settings import Kept
from tasks_monitor.models import Operation
from tests.factories import MembershipFactory
from tests.keeping.full import MARK, full_operation, holding

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def old(team: Team, admin: Member) -> Operation:
    return full_operation(team, by=admin.user, ended=timezone.now() - timedelta(days=31))


class TestRetention:
    def test_a_dry_run_says_what_would_go_and_changes_nothing(
        self, team: Team, old: Operation
    ) -> None:
        said = run("retention", team.slug, "--payload-days", "30", "--dry-run")
        assert "What 1 operations carried" in said and "  comments: 1" in said
        assert (settings.of(team.pk), len(holding(MARK))) == (Kept(), 20)
        assert run("retention", team.slug, "--dry-run") == "Nothing would go.\n"

    def test_it_sets_deletes_and_says_how_much(
        self, team: Team, admin: Member, old: Operation
    ) -> None:
        given = ["retention", team.slug, "--payload-days", "30", "--by", admin.user.email]
        assert "what 1 operations carried" in run(*given)
        assert (settings.of(team.pk), holding(MARK)) == (Kept(30, None), [])
        assert Event.objects.get(kind="retention.changed").channel == "command"
        run("retention", team.slug, "--payload-days", "never", "--by", admin.user.email)
        assert settings.of(team.pk) == Kept()

    def test_nobody_but_an_admin_sets_it_and_the_bounds_hold(
        self, team: Team, old: Operation
    ) -> None:
        operator = MembershipFactory(team=team, role=Role.OPERATOR).user.email
        for more, sentence in [
            (["30"], "which admin"),
            (["30", "--by", operator], "no admin"),
            (["3"], "kept for 7"),
            (["x"], "neither"),
        ]:
            with pytest.raises(CommandError, match=sentence):
                run("retention", team.slug, "--payload-days", *more)
        assert len(holding(MARK)) == 20


class TestLegalHold:
    def test_begin_list_and_end(self, team: Team, admin: Member, old: Operation) -> None:
        by = ["--by", admin.user.email]
        run("legal_hold", team.slug, "begin", "--operation", str(old.pk), "--reason", "court", *by)
        hold = LegalHold.objects.get()
        assert f"{hold.pk}: operation {old.pk}" in run("legal_hold", team.slug, "list")
        end = ["end", "--hold", str(hold.pk), "--reason", "settled", *by]
        assert "the legal hold is over" in run("legal_hold", team.slug, *end)
        assert run("legal_hold", team.slug, "list") == f"No legal hold of {team} is on.\n"
        hold.refresh_from_db()
        assert (hold.ended_by, hold.end_reason) == (admin.user, "settled")

    def test_a_dry_run_says_what_it_would_keep(self, team: Team, old: Operation) -> None:
        begin = ["legal_hold", team.slug, "begin", "--dry-run"]
        assert "for ever" in run(*begin)
        settings.Retention.objects.create(team=team, payload_days=30)
        assert "what 1 operations carried" in run(*begin)
        assert not LegalHold.objects.exists()

    def test_it_takes_an_admin_and_a_reason(self, team: Team, admin: Member) -> None:
        for more, sentence in [([], "which admin"), (["--by", admin.user.email], "Say why")]:
            with pytest.raises(CommandError, match=sentence):
                run("legal_hold", team.slug, "begin", *more)
        assert not LegalHold.objects.exists()


class TestErasing:
    def test_a_dry_run_first_then_the_name(self, team: Team, old: Operation) -> None:
        membership: Membership = MembershipFactory(team=team, user__is_active=False)
        leaver: User = membership.user
        assert "the name in 0 events" in run("erase_person", leaver.email, "--dry-run")
        with pytest.raises(CommandError, match="Type the name"):
            run("erase_person", leaver.email)
        said = run("erase_person", leaver.email, "--confirm", leaver.name)
        assert said == f"Erased: Erased person {leaver.pk}\n"
        assert holding(leaver.name) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["retention", "{team}", "--payload-days", "30", "--by", "{by}"],
        ["legal_hold", "{team}", "begin", "--reason", "A court asks", "--by", "{by}"],
        ["legal_hold", "{team}", "end", "--hold", "{hold}", "--reason", "Over", "--by", "{by}"],
    ],
)
def test_who_is_an_admin_no_more_when_it_comes_to_it_is_told_so(
    team: Team, admin: Member, arguments: list[str]
) -> None:
    on = LegalHold.objects.create(
        team=team, reason="x", since=timezone.now(), begun_by=admin.user, operation_id=uuid4()
    )
    ask = commands.admin_of

    def then_demoted(*given: Any) -> Actor:
        actor = ask(*given)
        Membership.objects.update(role=Role.VIEWER)
        return actor

    names = {"team": team.slug, "by": admin.user.email, "hold": str(on.pk)}
    with (
        mock.patch.object(commands, "admin_of", then_demoted),
        pytest.raises(CommandError, match=r"is Viewer\..*Nothing was changed") as told,
    ):
        run(*(argument.format(**names) for argument in arguments))
    assert told.value.returncode == 1
    assert not Event.objects.exclude(kind__startswith="operation").exists()
