"""Probes and metrics, for programs. None of them asks who is signed in."""

import hmac
from ipaddress import ip_address
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from mcpdesk.ops.metrics import registry
from mcpdesk.ops.readiness import lately

#: Headers that a proxy leaves: what looks like this machine then is whoever asked the proxy.
_FORWARDED: Final = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The web process lives: it asks nothing of anything else."""
    return JsonResponse({"status": "alive"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The desk is at work: each check by name; 503 when one of them is not as it has to be."""
    found = lately()
    ready = all(found.values())
    body = {
        "status": "ready" if ready else "not ready",
        "checks": {name: "ok" if holds else "failed" for name, holds in found.items()},
    }
    return JsonResponse(body, status=200 if ready else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything that is measured, in the format of Prometheus or OpenMetrics."""
    if not _may_scrape(request):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    return _exposed(registry(), request.headers.get("Accept", ""))


def _exposed(found: CollectorRegistry, accept: str) -> HttpResponse:
    encode, content_type = choose_encoder(accept)
    return HttpResponse(encode(found), content_type=content_type)


def _may_scrape(request: HttpRequest) -> bool:
    """By the token where one is set, else from this very machine and through no proxy."""
    token = settings.METRICS_TOKEN
    if token:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), token.encode())
        return scheme.lower() == "bearer" and same
    through_a_proxy = any(name in request.headers for name in _FORWARDED)
    return not settings.BEHIND_PROXY and not through_a_proxy and _is_here(request)


def _is_here(request: HttpRequest) -> bool:
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
