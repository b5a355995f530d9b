from django.apps import AppConfig


class McpdeskConfig(AppConfig):
    """The project itself: the Celery application, the log format and the start-up checks."""

    name = "mcpdesk"
    label = "mcpdesk"

    def ready(self) -> None:
        from mcpdesk import celery, checks, logs, tracing  # noqa: F401 - both register themselves

        logs.configure()
        tracing.configure()
