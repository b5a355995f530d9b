"""What one person wants to be told, and in which browsers."""

from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mcpdesk.accounts.adapter import sends_mail
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import User
from mcpdesk.notify import browsers, vapid
from mcpdesk.notify.browsers import Subscribed
from mcpdesk.notify.forms import PreferenceForm
from mcpdesk.notify.models import Preference, PushSubscription

WORKER = Path("static/js/push-worker.js")


@require_http_methods(["GET", "POST"])
@member_required()
def mine(request: MemberRequest) -> HttpResponse:
    """One's own wishes."""
    user = request.member.user
    wishes = Preference.objects.filter(user=user).first() or Preference(user=user)
    form = PreferenceForm(request.POST or None, instance=wishes)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("my_notifications")
    context = {
        "form": form,
        "mails": sends_mail(),
        "browsers": _browsers(user),
        "push_key": vapid.key().public_key,
    }
    return render(request, "notify/mine.html", context, status=422 if form.is_bound else 200)


@require_POST
@member_required()
def subscribe(request: MemberRequest) -> HttpResponse:
    """Keep the browser that asks; it sends what its push service gave it."""
    said = Subscribed(
        **{name: request.POST.get(name, "") for name in ("endpoint", "p256dh", "auth", "browser")}
    )
    try:
        browsers.subscribe(request.member.user, said, now=datetime.now(UTC))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, "This browser is told from now on.")
    return redirect("my_notifications")


@require_POST
@member_required()
def unsubscribe(request: MemberRequest, pk: int) -> HttpResponse:
    """Forget a browser."""
    try:
        browsers.unsubscribe(request.member.user, pk)
    except PushSubscription.DoesNotExist:
        raise Http404 from None
    messages.success(request, "Forgotten: that browser is not told any more.")
    return redirect("my_notifications")


@require_safe
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker. It stands at the root, or it could not open pages of the whole desk."""
    script = (settings.BASE_DIR / WORKER).read_bytes()
    return HttpResponse(script, content_type="text/javascript; charset=utf-8")


def _browsers(user: User) -> list[PushSubscription]:
    return list(PushSubscription.objects.filter(user=user).order_by("-created_at"))
