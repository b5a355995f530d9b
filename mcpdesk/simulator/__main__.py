"""`python -m mcpdesk.simulator` starts the server; the options are in `cli`."""

import sys

from mcpdesk.simulator.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
