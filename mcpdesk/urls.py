from django.urls import include, path
from django.views.generic import RedirectView

from mcpdesk.support.rows import site as support

urlpatterns = [
    # one's sessions stand on the profile; allauth's own page would end some without an event
    path("accounts/sessions/", RedirectView.as_view(pattern_name="profile")),
    path("accounts/", include("allauth.urls")),
    path("support/", support.urls),
    path("", include("mcpdesk.ops.urls")),
    path("", include("mcpdesk.api.urls")),
    path("", include("mcpdesk.web.urls")),
    path("", include("mcpdesk.notify.urls")),
    path("", include("approvals.urls")),
    path("", include("tasks_monitor.urls")),
]
