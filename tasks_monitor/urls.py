"""Addresses of operations and servers. /operations/new/ is in mcpdesk.web: it needs forms."""

from django.urls import path

from tasks_monitor.views import durations, holds, operation, operations, servers

urlpatterns = [
    path("operations/", operations.operation_list, name="operations"),
    path("operations/adopt/", operations.adopt, name="operation_adopt"),
    path("operations/<uuid:pk>/", operation.operation, name="operation"),
    path("operations/<uuid:pk>/cancel/", operations.cancel, name="operation_cancel"),
    path("operations/<uuid:pk>/check/", operations.check, name="operation_check"),
    path("operations/<uuid:pk>/result.json", operation.result_file, name="operation_result"),
    path(
        "operations/<uuid:pk>/result/<slug:name>/",
        operation.result_part,
        name="operation_result_part",
    ),
    path("servers/", servers.server_list, name="servers"),
    path("servers/new/", servers.server_new, name="server_new"),
    path("servers/<int:pk>/", servers.server, name="server"),
    path("servers/<int:pk>/edit/", servers.server_edit, name="server_edit"),
    path("servers/<int:pk>/pause/", servers.server_pause, name="server_pause"),
    path("servers/<int:pk>/test/", servers.server_test, name="server_test"),
    path("servers/<int:pk>/durations/", durations.durations, name="server_durations"),
    path("holds/new/", holds.hold_new, name="hold_new"),
    path("holds/<int:pk>/end/", holds.hold_end, name="hold_end"),
]
