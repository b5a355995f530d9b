from django.urls import include, path

from mcpdesk.support.rows import site as support

urlpatterns = [
    path("accounts/", include("allauth.urls")),
    path("support/", support.urls),
    path("", include("mcpdesk.ops.urls")),
    path("", include("mcpdesk.api.urls")),
    path("", include("mcpdesk.web.urls")),
    path("", include("mcpdesk.notify.urls")),
    path("", include("approvals.urls")),
    path("", include("tasks_monitor.urls")),
]
