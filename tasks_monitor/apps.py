from django.apps import AppConfig


class TasksMonitorConfig(AppConfig):
    name = "tasks_monitor"
    verbose_name = "Operations"
