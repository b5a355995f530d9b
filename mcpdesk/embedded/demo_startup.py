"""`./desk demo`: a start with a scripted MCP server, a team and sign-ins to try."""

from functools import partial
from urllib.parse import urlsplit

from django.conf import settings

from mcpdesk.embedded import processes
from mcpdesk.embedded.console import say, step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.postgres import Postgres
from mcpdesk.embedded.startup import DEMO_MARK, Startup
from mcpdesk.embedded.supervisor import Supervisor
from mcpdesk.web import demo


class DemoStartup(Startup):
    """The demo's passwords are public, so it never mixes with a real desk's data."""

    __slots__ = ()

    def check_data(self) -> None:
        """Refuse real data, and mark new data as the demo's. Raises StartError."""
        processes.simulator_bind().require_free()
        if not settings.EMBEDDED:
            raise StartError("The demo brings a database of its own: unset DATABASE_URL.")
        mark = self.data / DEMO_MARK
        if Postgres(self.data).exists and not mark.exists():
            raise StartError(
                f"{self.data} holds a real desk, and the demo would add sign-ins with public "
                "passwords. Name another data folder with MCPDESK_DATA."
            )
        mark.write_text("This data folder holds the demo: its passwords are public.\n")

    def fill(self, supervisor: Supervisor) -> None:
        """Start the MCP server, then make what is missing of the demo. Raises StartError."""
        address = processes.simulator_bind()
        with step("Starting the demo's MCP server"):
            child = self.run_command(supervisor, processes.simulator(address, self.data))
            place = urlsplit(address.url).netloc
            ready = partial(processes.answers, f"{address.url}/healthz", place)
            supervisor.wait_until(child, ready)
        with step("Filling the demo"):
            demo.seed(f"{address.url}/mcp")

    def greet(self) -> None:
        """Say how to go on, and whom to sign in as."""
        super().greet()
        for role, email, password in demo.SIGN_INS:
            say(f"  {role:<10} {email:<24} {password}")
