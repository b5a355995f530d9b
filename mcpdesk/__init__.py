"""mcpdesk: a durable host for Model Context Protocol operations that need people."""
