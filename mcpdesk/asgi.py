"""The ASGI application: Django for HTTP, one Channels consumer for live updates."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mcpdesk.settings")
http = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 - needs the app registry
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from mcpdesk import logs  # noqa: E402
from mcpdesk.api.waiting import HeldAnswers  # noqa: E402
from mcpdesk.web.bodies import BoundedBodies  # noqa: E402
from mcpdesk.web.origins import OwnPagesOnly  # noqa: E402
from mcpdesk.web.routing import websocket_urlpatterns  # noqa: E402
from mcpdesk.web.warm import get_ready  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": BoundedBodies(HeldAnswers(http), most=settings.DATA_UPLOAD_MAX_MEMORY_SIZE),
        "websocket": OwnPagesOnly(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
get_ready()
logs.write_events()
