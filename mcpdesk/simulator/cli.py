"""Command line of the simulator."""

import argparse
import secrets
import socket
import sys
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
    options.add_argument(
        "--port", type=int, required=True, help="TCP port to listen on; 0: any free one"
    )
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
    """Serve until stopped. Returns the exit status: 1 when the port cannot be had."""
    options = parser().parse_args(argv)
    try:
        listening = socket.create_server((options.host, options.port), backlog=2048)
    except OSError as error:
        sys.stderr.write(f"Cannot listen on {options.host}:{options.port}: {error.strerror}.\n")
        return 1
    port = listening.getsockname()[1]
    sys.stdout.write(f"Simulator at http://{options.host}:{port}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        build(options), log_level="critical", access_log=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0
