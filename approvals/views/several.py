"""Several items at once: the page that shows each of them whole and asks once more, then what
became of each.
"""

from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods
from django_htmx.http import push_url, trigger_client_event

from approvals import bulk
from approvals.filters import Chosen
from approvals.listing import list_of
from approvals.models import Verdict
from approvals.outcomes import Refused
from approvals.verdict import MAX_REASON_CHARS
from approvals.views.doors import DETAIL, INBOX
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required


@require_http_methods(["GET", "HEAD", "POST"])
@member_required(Permission.DECIDE)
def several(request: MemberRequest) -> HttpResponse:
    """GET shows what was picked and asks once more; POST decides each item by itself."""
    if request.method == "POST":
        return _decide(request)
    return _ask(request, request.GET, bulk.NONE_PICKED if not request.GET.get("item") else "")


def _ask(
    request: MemberRequest, given: QueryDict, refusal: str = "", status: int = 200
) -> HttpResponse:
    """The picked items, whole, with what stands against deciding them, if anything does."""
    picked = _ids(given)
    if len(picked) > bulk.MAX_ITEMS:
        picked, refusal = [], bulk.TOO_MANY
    shown = bulk.show(request.member, picked, timezone.now())
    context = {
        "several": "ask",
        "shown": [one for one in shown if not one.alone],
        "left_out": [one for one in shown if one.alone],
        "not_here": len(picked) - len(shown),
        "verdict": _verdict(given) or Verdict.APPROVE,
        "refusal": refusal,
        "reason": given.get("reason", "")[:MAX_REASON_CHARS],
    }
    return _page(request, context, status)


def _decide(request: MemberRequest) -> HttpResponse:
    post = request.POST
    verdict = _verdict(post)
    if verdict is None:
        return _ask(request, post, "Neither approve nor deny: nothing was decided.", status=422)
    tokens = {pk: post.get(f"binding-{pk}", "") for pk in _ids(post)}
    reason = post.get("reason", "")
    lines = bulk.decide_each(tokens, member=request.member, verdict=verdict, reason=reason)
    if isinstance(lines, Refused):
        return _ask(request, post, lines.sentence, status=422)
    done = sum(line.done for line in lines)
    context = {"several": "result", "lines": lines, "done": done, "not_done": len(lines) - done}
    return _page(request, context)


def _page(request: MemberRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """In the column of the opened item, or as a page with the list beside it."""
    if request.htmx.target != DETAIL:
        whole = {**list_of(request), **context, "item": None, "item_chosen": True}
        return render(request, INBOX, whole, status=status)
    # htmx shows what is refused as well: the sentence is in it
    shown = {**context, "chosen": Chosen.read(request.GET)}
    response = render(request, "approvals/several.html", shown)
    if request.method == "GET":
        push_url(response, request.get_full_path())
    return trigger_client_event(response, "inbox-changed")


def _ids(given: QueryDict) -> list[UUID]:
    """The items that are named, each once; what is no id is nobody's item."""
    found: dict[UUID, None] = {}
    for text in given.getlist("item"):
        try:
            found[UUID(str(text))] = None
        except ValueError:
            continue
    return list(found)


def _verdict(given: QueryDict) -> Verdict | None:
    chosen = given.get("choice", "")
    return Verdict(chosen) if chosen in Verdict.values else None
