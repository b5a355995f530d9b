from django.urls import include, path

urlpatterns = [
    path("accounts/", include("allauth.urls")),
    path("", include("mcpdesk.ops.urls")),
    path("", include("mcpdesk.api.urls")),
    path("", include("mcpdesk.web.urls")),
    path("", include("mcpdesk.notify.urls")),
    path("", include("approvals.urls")),
    path("", include("tasks_monitor.urls")),
]
