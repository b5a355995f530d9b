"""The Celery application: carries wake-ups, never the truth (docs/architecture.md)."""

import os
from pathlib import Path

from celery import Celery
from celery.signals import worker_init
from kombu.transport import TRANSPORT_ALIASES

from mcpdesk import logs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mcpdesk.settings")

# kombu's own file broker loses messages, and workers over them
TRANSPORT_ALIASES["filesystem"] = "mcpdesk.embedded.broker:Transport"

app = Celery("mcpdesk")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def make_broker_folders() -> None:
    """The filesystem broker expects its folders to exist. Who writes there gives workers orders."""
    options = app.conf.broker_transport_options or {}
    for name in ("data_folder_in", "control_folder"):
        if name in options:
            Path(options[name]).mkdir(mode=0o700, parents=True, exist_ok=True)


worker_init.connect(lambda **_: logs.write_events(), weak=False)
app.on_after_configure.connect(lambda **_: make_broker_folders(), weak=False)
