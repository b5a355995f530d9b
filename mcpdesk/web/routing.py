"""Addresses of sockets."""

from django.urls import path

from mcpdesk.web.consumers import StatusConsumer

websocket_urlpatterns = [path("ws/live/", StatusConsumer.as_asgi())]
