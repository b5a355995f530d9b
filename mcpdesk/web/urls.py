"""Addresses of the shell. Pages of operations, servers and approvals are in their own apps."""

from django.urls import include, path
from django.views.generic import RedirectView

from mcpdesk.web import views

urlpatterns = [
    path("", RedirectView.as_view(url="/inbox/"), name="home"),
    path("health/", views.health, name="health"),
    path("shell/inbox-badge/", views.inbox_badge, name="inbox_badge"),
    path("", include("mcpdesk.accounts.urls")),
]
