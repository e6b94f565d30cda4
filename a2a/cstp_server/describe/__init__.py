"""How a server describes itself to programs: OpenRPC and the agent card."""
