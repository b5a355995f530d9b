"""Usual reasons: an admin writes them, the form of a gate offers them."""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import presets
from approvals.models import Vote
from approvals.presets import Invalid
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from tests.approvals.conftest import Join
from tests.approvals.gates import a_gate, token
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def _replace(member: Member, approve: str, deny: str = "") -> Invalid | None:
    actor = Actor.person(member)
    return presets.replace(member.team_id, approve=approve, deny=deny, actor=actor, now=NOW)


def _texts(member: Member) -> list[str]:
    return [one.text for one in presets.of(member.team_id)]


def _post(member: Member, **fields: str) -> HttpResponse:
    client = Client()
    client.force_login(member.user)
    return client.post(reverse("reasons"), fields)


def test_lines_become_reasons_each_once(join: Join) -> None:
    admin = join(Role.ADMIN)
    assert _replace(admin, "Agreed\n\n Agreed \nSmall change", "Out of hours") is None
    assert _texts(admin) == ["Agreed", "Small change", "Out of hours"]
    assert Event.objects.get().data == {"count": 3}


def test_saving_the_same_again_writes_nothing(join: Join) -> None:
    admin = join(Role.ADMIN)
    for _ in range(2):
        _replace(admin, "Agreed", "Out of hours")
    assert Event.objects.count() == 1


def test_what_is_too_much_changes_nothing(join: Join) -> None:
    admin = join(Role.ADMIN)
    _replace(admin, "Agreed")
    for approve in ("x" * 201, "\n".join(map(str, range(21))), "a\x00"):
        assert isinstance(_replace(admin, approve), Invalid)
    assert _texts(admin) == ["Agreed"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.OPERATOR, Role.AUDITOR])
def test_only_an_admin_changes_them_and_everybody_reads_them(join: Join, role: Role) -> None:
    admin, member = join(Role.ADMIN), join(role)
    assert _post(admin, approve="Agreed", deny="").status_code == 302
    assert _post(member, approve="Mine", deny="").status_code == 403
    client = Client()
    client.force_login(member.user)
    page = client.get(reverse("reasons")).content.decode()
    assert "Agreed" in page
    assert '<button class="btn btn-primary">Save' not in page


def test_what_was_refused_is_still_there_to_be_mended(join: Join) -> None:
    response = _post(join(Role.ADMIN), approve="y" * 201, deny="no")
    assert response.status_code == 422
    assert "y" * 201 in response.content.decode()


def test_a_gate_offers_the_reasons_of_its_team_and_no_other(
    operator: Member, approver: Member, join: Join
) -> None:
    _replace(join(Role.ADMIN), "Agreed", "Out of <hours>")
    other = a_gate(operator).team.__class__.objects.create(name="Other", slug="other")
    _replace(join(Role.ADMIN, team=other), "Theirs")
    approval = a_gate(operator)
    client = Client()
    client.force_login(approver.user)
    page = client.get(reverse("inbox_item", args=[approval.pk])).content.decode()
    assert "<option>Agreed</option>" in page
    assert "Out of &lt;hours&gt;" in page
    assert "Theirs" not in page


@pytest.mark.parametrize(
    ("picked", "typed", "kept"),
    [
        ("Out of hours", "", "Out of hours"),
        ("Out of hours", "try on Monday", "Out of hours: try on Monday"),
        ("", "try on Monday", "try on Monday"),
    ],
)
def test_a_picked_reason_is_a_reason_without_javascript(
    operator: Member, approver: Member, picked: str, typed: str, kept: str
) -> None:
    approval = a_gate(operator)
    client = Client()
    client.force_login(approver.user)
    posted = {
        "binding": token(approval, approver, timezone.now()),
        "choice": "deny",
        "usual_reason": picked,
        "reason": typed,
    }
    client.post(reverse("inbox_decide", args=[approval.pk]), posted)
    assert Vote.objects.get().reason == kept
