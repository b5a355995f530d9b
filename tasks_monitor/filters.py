"""What the list of operations can be narrowed by; the filters stand in the URL."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpRequest

from mcpdesk.accounts.access import in_team
from mcpdesk.accounts.guard import MemberRequest
from tasks_monitor.models import HistoryEntry, Server, Tool
from tasks_monitor.states import State


def _servers(request: MemberRequest | None) -> QuerySet[Server]:
    if request is None:
        return Server.objects.none()
    return in_team(request.member, Server.objects.only("name")).order_by("name")


class OperationFilter(django_filters.FilterSet):  # type: ignore[misc]
    server = django_filters.ModelChoiceFilter(queryset=_servers, empty_label="Any server")
    tool = django_filters.CharFilter(method="only_tools", label="Tool")
    state = django_filters.ChoiceFilter(choices=State.choices, empty_label="Any state")
    mine = django_filters.ChoiceFilter(
        choices=[("yes", "By me")],
        empty_label="By anybody",
        label="Who started it",
        method="only_mine",
    )

    class Meta:
        model = HistoryEntry
        fields: tuple[str, ...] = ()

    def only_tools(self, queryset: QuerySet[HistoryEntry], name: str, value: str) -> Any:
        """By part of the name where a server lists the tool, by its whole name else: the index
        finds names, and nothing finds parts of them among a million rows.
        """
        listed = Tool.objects.filter(server__team=self.request.member.team_id)
        names = listed.filter(name__icontains=value).values_list("name", flat=True)
        return queryset.filter(tool_name__in={value, value.lower(), *names})

    def only_mine(self, queryset: QuerySet[HistoryEntry], name: str, value: Any) -> Any:
        request: HttpRequest = self.request
        return queryset.filter(started_by=request.user.pk)

    @property
    def narrow(self) -> bool:
        """Whether anything narrows the list."""
        return any(self.data.get(name) for name in self.filters)
