"""The desk from programs: a typed client of its REST API. Needs httpx, and nothing of the desk.

    with Desk("https://desk.example", token) as desk:
        operation = desk.start("builds", "deploy", {"project": "api"}, key="release-43")
        operation = desk.wait(operation.id)

What fails raises an error of mcpdesk.client.errors. What is safe to repeat (with the same key, a
start is) is repeated while the desk is away.
"""

from mcpdesk.client.desk import Desk
from mcpdesk.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RateLimited,
    Unauthorized,
    Unreachable,
)
from mcpdesk.client.models import (
    Approval,
    Event,
    Export,
    Operation,
    Repairs,
    Server,
    Tool,
    Waiting,
)

__all__ = [
    "ApiError",
    "Approval",
    "Conflict",
    "Desk",
    "Event",
    "Export",
    "Forbidden",
    "Invalid",
    "NotFound",
    "Operation",
    "RateLimited",
    "Repairs",
    "Server",
    "Tool",
    "Unauthorized",
    "Unreachable",
    "Waiting",
]
