"""A scripted MCP server over plain ASGI: for the demo, the tests and the benchmarks.

It speaks revision 2026-07-28 with the Tasks extension, follows the rules strictly where a client
could get them wrong, and misbehaves on request in every way that servers in the field do.
It shares no code with the product, so that a misreading there is not repeated here.
See docs/simulator.md for the tools, the faults and the control endpoints.
"""
