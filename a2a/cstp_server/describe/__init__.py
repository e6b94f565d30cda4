"""Server descriptions for programs: OpenRPC and the agent card."""
