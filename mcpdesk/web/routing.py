"""Addresses of sockets."""

from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from mcpdesk.web.consumers import StatusConsumer

websocket_urlpatterns = [
    path("ws/live/", StatusConsumer.as_asgi()),
    # without a route for the rest, anybody's socket would leave a traceback in the log
    re_path("", WebsocketDenier.as_asgi()),
]
