"""The import page: a file, what it would change, then all of that at once."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from approvals.models import PolicyRule
from mcpdesk.accounts.models import Membership, Role
from tests.factories import MembershipFactory, PolicyRuleFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

PAGE = "/policies/import/"
FILE = """\
mcpdesk_policy: 1
rules:
  - name: Reads
    effect: allow
    tool: read_*
  - name: Deletes
    effect: ask
    ask: {quorum: 2}
    questions: {audience: admins}
"""


@pytest.fixture
def admin() -> Membership:
    membership: Membership = MembershipFactory(role=Role.ADMIN)
    return membership


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


def shown(client: Client, text: str = FILE) -> HttpResponse:
    return client.post(PAGE, {"text": text})


def apply(client: Client, preview: Any, **changes: str) -> HttpResponse:
    """What the button under a preview posts."""
    context = preview.context
    form = {"text": context["text"], "seen": context["plan"].seen, "shown": context["shown"]}
    return client.post(PAGE, {**form, "apply": "1", **changes}, follow=True)


def names() -> list[str]:
    return list(PolicyRule.objects.order_by("position").values_list("name", flat=True))


def test_a_preview_says_what_would_change_and_the_button_does_it(
    client: Client, admin: Membership
) -> None:
    PolicyRuleFactory(team=admin.team, name="Old")
    preview = shown(client)
    page = preview.content.decode()
    assert "2 added" in page
    assert "1 removed" in page
    assert "anybody calls read_* on any server" in page
    assert "answered by one of the team&#x27;s admins" in page
    assert names() == ["Old"]
    done = apply(client, preview).content.decode()
    assert "Imported: 2 added, 0 changed, 1 removed." in done
    assert names() == ["Reads", "Deletes"]


def test_a_file_is_read_like_the_text(client: Client) -> None:
    for content in (FILE.encode(), b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode()):
        file = SimpleUploadedFile("policy.yaml", content)
        assert "2 added" in client.post(PAGE, {"file": file, "text": ""}).content.decode()


@pytest.mark.parametrize(
    ("posted", "says"),
    [
        ({"text": "  "}, "Choose a file, or paste its text."),
        ({"file": b"\xff\xfe"}, "not text in UTF-8"),
        ({"file": b"x" * (256 * 1024 + 1)}, "larger than 256 KiB"),
        ({"text": FILE.replace("allow", "permit")}, "Rule 1 (Reads): The effect is one of"),
        ({"text": FILE.replace("name: Reads", "name: &x Reads")}, "Line 3: anchors and aliases"),
        ({"text": FILE.replace("Reads", '"Reads\\udc00"')}, "Line 3: half a character"),
        ({"text": FILE.replace("Reads", "<script>")[:60] + "\n- ]"}, "this is not YAML"),
    ],
)
def test_what_will_not_do_is_told_and_nothing_is_imported(
    client: Client, posted: dict[str, Any], says: str
) -> None:
    for more in ({}, {"apply": "1"}):
        files = {"file": SimpleUploadedFile("x", posted["file"])} if "file" in posted else {}
        response = client.post(PAGE, {**posted, **more, **files})
        page = response.content.decode()
        assert response.status_code == 422
        assert "Nothing was imported." in page
        assert says in page
        assert "<script>" not in page.split("<main", 1)[1]
    assert not PolicyRule.objects.exists()


def test_what_was_not_shown_is_not_imported(client: Client) -> None:
    preview = shown(client)
    other = FILE.replace("allow", "disabled")
    response = apply(client, preview, text=other)
    assert response.status_code == 422
    assert "The text was changed after the preview" in response.content.decode()
    assert not PolicyRule.objects.exists()


def test_a_policy_that_changed_meanwhile_is_shown_again_first(
    client: Client, admin: Membership
) -> None:
    preview = shown(client)
    PolicyRuleFactory(team=admin.team, name="New")
    again = apply(client, preview)
    assert again.status_code == 422
    assert "Somebody else changed the policy meanwhile" in again.content.decode()
    assert names() == ["New"]
    apply(client, again)
    assert names() == ["Reads", "Deletes"]


def test_the_export_is_a_file_that_imports_as_it_is(client: Client, admin: Membership) -> None:
    apply(client, shown(client))
    response = client.get("/policies/export/")
    assert response["Content-Type"] == "application/yaml; charset=utf-8"
    assert f"policy-{admin.team.slug}.yaml" in response["Content-Disposition"]
    page = shown(client, response.content.decode()).content.decode()
    assert "says what the policy says already" in page
    assert "Import it" not in page


def test_a_policy_that_cannot_be_read_is_not_exported(client: Client, admin: Membership) -> None:
    PolicyRuleFactory(team=admin.team, name="broken", match={"tool": 7})
    page = client.get("/policies/export/", follow=True).content.decode()
    assert "Mend or delete rule 1 (broken) first" in page


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_others_take_the_rules_along_and_bring_none_in(admin: Membership, role: Role) -> None:
    PolicyRuleFactory(team=admin.team, name="the rule")
    reader = browser(role, admin.team)
    assert "the rule" in reader.get("/policies/export/").content.decode()
    assert reader.get(PAGE).status_code == 403
    assert reader.post(PAGE, {"text": FILE}).status_code == 403
    assert names() == ["the rule"]


def test_nothing_of_another_team_is_exported(client: Client) -> None:
    PolicyRuleFactory(name="foreign rule")
    assert "foreign rule" not in client.get("/policies/export/").content.decode()
