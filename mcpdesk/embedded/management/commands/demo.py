from mcpdesk.embedded.management.commands import up


class Command(up.Command):
    help = "Starts the whole desk with a demo team, a demo MCP server and sign-ins to try."
    demo = True
