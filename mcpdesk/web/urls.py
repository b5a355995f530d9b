"""Addresses of the shell. Pages of operations, servers and approvals are in their own apps."""

from django.urls import include, path

from mcpdesk.web.views import (
    away,
    dashboard,
    exports,
    health,
    history,
    shell,
    start,
    team,
    tokens,
)
from mcpdesk.web.views.profile import profile

urlpatterns = [
    path("", dashboard.show, name="dashboard"),
    path("health/", shell.health, name="health"),
    path("health/desk/", health.desk_health, name="desk_health"),
    path("shell/inbox-badge/", shell.inbox_badge, name="inbox_badge"),
    path("shell/holds/", shell.holds, name="holds"),
    path("operations/new/", start.start, name="operation_new"),
    path("team/", team.team, name="team"),
    path("team/add/", team.add, name="team_add"),
    path("team/<int:pk>/role/", team.role, name="team_role"),
    path("team/<int:pk>/remove/", team.remove, name="team_remove"),
    path("team/<int:pk>/password/", team.password, name="team_password"),
    path("team/<int:pk>/reactivate/", team.reactivate, name="team_reactivate"),
    path("team/<int:pk>/deactivate/", team.deactivate, name="team_deactivate"),
    path("team/tokens/", tokens.of_team, name="team_tokens"),
    path("team/tokens/<int:pk>/revoke/", tokens.revoke_of_team, name="team_token_revoke"),
    path("profile/tokens/", tokens.mine, name="my_tokens"),
    path("profile/tokens/<int:pk>/revoke/", tokens.revoke_mine, name="my_token_revoke"),
    path("history/", history.operations, name="history"),
    path("history/approvals/", history.approvals, name="history_approvals"),
    path("history/<slug:place>/save/", history.save, name="history_save"),
    path("exports/", exports.export_list, name="exports"),
    path("exports/new/<slug:subject>/", exports.begin, name="export_new"),
    path("exports/<uuid:pk>/", exports.export, name="export"),
    path("exports/<uuid:pk>/file/", exports.file, name="export_file"),
    path("away/", away.away, name="away"),
    path("away/add/", away.add, name="away_add"),
    path("away/<int:pk>/", away.change, name="away_change"),
    path("away/<int:pk>/end/", away.end, name="away_end"),
    path("profile/", profile, name="profile"),
    path("", include("mcpdesk.accounts.urls")),
]
