from datetime import UTC, datetime
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class AccountsConfig(AppConfig):
    name = "mcpdesk.accounts"
    label = "accounts"
    verbose_name = "People and teams"

    def ready(self) -> None:
        user_logged_in.connect(_keep_session, dispatch_uid="mcpdesk.accounts.devices")


def _keep_session(request: Any, user: Any, **_: Any) -> None:
    from mcpdesk.accounts import devices  # models are there once every app is

    devices.begin(request, user, datetime.now(UTC))
