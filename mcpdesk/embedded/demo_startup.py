"""`./desk demo`: a start with a scripted MCP server, a team and sign-ins to try."""

import sys
from functools import partial
from urllib.parse import urlsplit

from mcpdesk.embedded import processes
from mcpdesk.embedded.console import say, step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.postgres import Postgres
from mcpdesk.embedded.startup import DEMO_MARK, Startup, brings_database, main
from mcpdesk.embedded.supervisor import Supervisor


class DemoStartup(Startup):
    """The demo's passwords are public, so it never mixes with a real desk's data."""

    __slots__ = ()

    def check_data(self) -> None:
        """Refuse real data, and mark new data as the demo's. Raises StartError."""
        processes.simulator_bind().require_free()
        if not brings_database():
            raise StartError("The demo brings a database of its own: unset DATABASE_URL.")
        mark = self.data / DEMO_MARK
        if Postgres(self.data).exists and not mark.exists():
            raise StartError(
                f"{self.data} holds a real desk, and the demo would add sign-ins with public "
                "passwords. Name another data folder with MCPDESK_DATA."
            )
        mark.touch()

    def start_more(self, supervisor: Supervisor) -> None:
        """Start the MCP server. Raises StartError."""
        address = processes.simulator_bind()
        with step("Starting the demo's MCP server"):
            child = self.run_command(supervisor, processes.simulator(address, self.data))
            place = urlsplit(address.url).netloc
            ready = partial(processes.answers, f"{address.url}/healthz", place)
            supervisor.wait_until(child, ready)

    def fill(self) -> None:
        """Make what is missing of the demo, and write down whom to sign in as."""
        from mcpdesk.web import demo

        with step("Filling the demo"):
            demo.seed(f"{processes.simulator_bind().url}/mcp")
        lines = [f"  {role:<10} {email:<24} {secret}" for role, email, secret in demo.SIGN_INS]
        (self.data / DEMO_MARK).write_text("\n".join(lines))

    def greet(self) -> None:
        """Say how to go on, and whom to sign in as."""
        super().greet()
        say((self.data / DEMO_MARK).read_text())


if __name__ == "__main__":
    sys.exit(main(DemoStartup))
