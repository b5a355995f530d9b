"""The Model Context Protocol: revision 2026-07-28 and the Tasks extension, no input or output.

Functions here take values (bytes, JSON values, an aware UTC datetime) and return values. Nothing
opens a socket, reads a clock or knows Django. See docs/protocol.md for what is tolerated.
"""
