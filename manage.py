#!/usr/bin/env python
"""Django's command line for mcpdesk; `./desk` runs this inside the virtual environment."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mcpdesk.settings")
    from django.core.management import execute_from_command_line

    # in its help and its errors it is called what people type
    execute_from_command_line(["./desk", *sys.argv[1:]])


if __name__ == "__main__":
    main()
