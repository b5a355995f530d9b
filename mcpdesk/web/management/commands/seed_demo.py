"""`manage.py seed_demo`: the demo's team, people, server and operations."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from mcpdesk.web import demo


class Command(BaseCommand):
    help = "Make what is missing of the demo, and print its sign-ins. Seeding again is harmless."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--simulator", default="http://127.0.0.1:8650/mcp", metavar="URL")

    def handle(self, *args: Any, simulator: str, **options: Any) -> None:
        demo.seed(simulator)
        for role, email, password in demo.SIGN_INS:
            self.stdout.write(f"{role:<9} {email:<24} {password}")
