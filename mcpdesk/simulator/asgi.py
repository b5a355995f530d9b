"""The ASGI applications: one instance, and several behind a balancer."""

from mcpdesk.simulator.control import CONTROLS
from mcpdesk.simulator.exchange import serve
from mcpdesk.simulator.http import Receive, Scope, Send, encode, headers_of, read_body, send_body
from mcpdesk.simulator.world import World


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


class Simulator:
    """The MCP endpoint at /mcp and the control endpoints beside it.

    Several worlds stand for several instances behind a balancer: requests go round in turn, and
    what is about a task goes to the instance that knows the task, as `Mcp-Name` is there for.
    """

    def __init__(self, *worlds: World) -> None:
        self.worlds = worlds
        self._turn = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP exchange, or the lifespan of the process."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["path"] == "/mcp":
            await serve(self._world_for(scope), scope, receive, send)
        elif control := CONTROLS.get((scope["method"], scope["path"])):
            status, report = control(self.worlds, await read_body(receive))
            await send_body(send, status, encode(report))
        else:
            await send_body(send, 404, b"Not found", "text/plain")

    def _world_for(self, scope: Scope) -> World:
        if len(self.worlds) == 1:
            return self.worlds[0]
        name = headers_of(scope).get("mcp-name", "")
        for world in self.worlds:
            if world.store.load(name) is not None:
                return world
        self._turn += 1
        return self.worlds[(self._turn - 1) % len(self.worlds)]
