"""Addresses of the API, and of the page that explains it."""

from django.urls import path, re_path

from mcpdesk.api import problems
from mcpdesk.api.document import Document, JsonOnly, add_handlers, describe
from mcpdesk.api.routes import approvals, events, exports, me, operations, repairs, servers
from mcpdesk.api.views import docs

api = Document(
    title="mcpdesk",
    version="1",
    description="Operations that need people, for programs. Failures are RFC 9457 problems.",
    urls_namespace="api",
    docs_url=None,
    parser=JsonOnly(),
)
add_handlers(api)
api.add_router("/operations", operations.router)
api.add_router("/operations", repairs.router)
api.add_router("/approvals", approvals.router)
api.add_router("/servers", servers.router)
api.add_router("/events", events.router)
api.add_router("/exports", exports.router)
api.add_router("/me", me.router)
describe(api, operations, repairs, approvals, servers, events, exports, me)

urlpatterns = [
    path("api/", docs, {"document": api}, name="api_docs"),
    path("api/v1/", api.urls),
    re_path(r"^api/v1/", problems.not_found, name="api_nowhere"),
]
