"""Servers and their tools, for reading."""

from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router

from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import shown
from mcpdesk.api.callers import ApiRequest, Bearer
from mcpdesk.api.schemas import ServerName, ServerOut, Text, ToolOut
from tasks_monitor import selectors

router = Router(tags=["servers"])


@router.get("", auth=Bearer(Scope.READ), response=list[ServerOut])
def servers(request: ApiRequest) -> Any:
    """The team's servers by name."""
    return [shown.server(found) for found in selectors.servers(request.auth.member)]


@router.get("/{name}/tools", auth=Bearer(Scope.READ), response=list[ToolOut], url_name="tools")
def tools(request: ApiRequest, name: ServerName, search: Text = "") -> Any:
    """The tools of a server, as its list was last read."""
    found = get_object_or_404(selectors.shown_servers(request.auth.member), name=name)
    return selectors.tools(found, search)
