"""Command line of the simulator."""

import argparse
import secrets
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from mcpdesk.simulator.asgi import Simulator
from mcpdesk.simulator.stores import MemoryStore, SqliteStore, Store
from mcpdesk.simulator.tools.registry import TOOLSETS
from mcpdesk.simulator.world import World


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="mcpdesk.simulator", description="A scripted MCP server. The endpoint is /mcp."
    )
    options.add_argument("--port", type=int, required=True, help="TCP port to listen on")
    options.add_argument("--host", default="127.0.0.1", help="address to bind (%(default)s)")
    options.add_argument("--seed", help="same seed, same ids and states; random when left out")
    options.add_argument(
        "--state", type=Path, help="SQLite file with tasks and counts, shared by instances"
    )
    options.add_argument(
        "--instance",
        default="one",
        help="name of this instance; several names, with commas, are served in turn (%(default)s)",
    )
    options.add_argument(
        "--tools", choices=TOOLSETS, default="all", help="which tools there are (%(default)s)"
    )
    options.add_argument("--token", help="bearer token that every request must carry")
    options.add_argument(
        "--legacy", action="store_true", help="behave as a server of the initialize era"
    )
    return options


def build(options: argparse.Namespace) -> Simulator:
    """The application that the options describe. Without --state, instances share nothing."""
    seed = options.seed or secrets.token_hex(16)
    shared = SqliteStore(options.state) if options.state else None
    if shared is not None and not options.seed:
        seed = shared.seed(seed)
    worlds = []
    for instance in options.instance.split(","):
        store: Store = shared or MemoryStore()
        world = World(store, TOOLSETS[options.tools], seed, instance)
        world.token, world.legacy = options.token, options.legacy
        worlds.append(world)
    return Simulator(*worlds)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped. Returns the exit status."""
    options = parser().parse_args(argv)
    uvicorn.run(
        build(options),
        host=options.host,
        port=options.port,
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    return 0
