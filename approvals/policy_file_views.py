"""The pages that export a team's policy as a file, and import one."""

import hashlib

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from approvals import policy, policy_export, policy_import
from approvals.policy_files import MAX_BYTES
from approvals.policy_forms import names_of
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.admins import Who

_PAGE = "approvals/policy_import.html"
_CHANGES = ("added", "changed", "removed", "moved")
_EMPTY = "Choose a file, or paste its text."
_TOO_BIG = f"The file is larger than {MAX_BYTES // 1024} KiB."
_NO_TEXT = "The file is not text in UTF-8."
_OTHER_TEXT = "The text was changed after the preview. Look at what it would do now."


@require_safe
@member_required()
def export_file(request: MemberRequest) -> HttpResponse:
    """The rules as a file; whoever reads them on the page may take them along."""
    try:
        text = policy_export.export(request.member.team)
    except Refused as refused:
        messages.error(request, refused.sentence)
        return redirect("policies")
    # RFC 9512: the media type of YAML
    response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    name = f"policy-{request.member.team.slug}.yaml"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def import_file(request: MemberRequest) -> HttpResponse:
    """A file, then what it would change, then all of that at once."""
    if request.method != "POST":
        return render(request, _PAGE)
    try:
        text = _text(request)
        if "apply" not in request.POST:
            return _preview(request, text)
        if request.POST.get("shown") != _digest(text):
            return _preview(request, text, _OTHER_TEXT)
        return _apply(request, text)
    except Refused as refused:
        context = {"text": request.POST.get("text", ""), "problem": refused.sentence}
        return render(request, _PAGE, context, status=422)


def _text(request: MemberRequest) -> str:
    """What was chosen as a file, else what stands in the text field. Raises Refused."""
    file = request.FILES.get("file")
    if file is None:
        text = request.POST.get("text", "").replace("\r\n", "\n")
    elif file.size is None or file.size > MAX_BYTES:
        raise Refused(_TOO_BIG)
    else:
        try:
            text = file.read().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise Refused(_NO_TEXT) from None
    if not text.strip():
        raise Refused(_EMPTY)
    return text


def _preview(request: MemberRequest, text: str, problem: str = "") -> HttpResponse:
    plan = policy_import.plan(text, request.member.team)
    names = names_of(request.member.team)
    context = {
        "text": text,
        "problem": problem,
        "plan": plan,
        "shown": _digest(text),
        "lines": [
            (entry, policy.in_words(entry.rule, names) if entry.rule else None)
            for entry in plan.entries
        ],
        "counts": [(what, plan.count(what)) for what in _CHANGES if plan.count(what)],
    }
    return render(request, _PAGE, context, status=422 if problem else 200)


def _apply(request: MemberRequest, text: str) -> HttpResponse:
    who = Who(request.member, timezone.now())
    try:
        done = policy_import.apply(text, seen=request.POST.get("seen", ""), who=who)
    except Refused as refused:
        # what is shown next is what the file would do to the policy as it stands by now
        return _preview(request, text, refused.sentence)
    counts = ", ".join(f"{done.count(what)} {what}" for what in ("added", "changed", "removed"))
    messages.success(request, f"Imported: {counts}. It counts for every call from now on.")
    return redirect("policies")


def _digest(text: str) -> str:
    """Names the text that a preview was made of."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()
