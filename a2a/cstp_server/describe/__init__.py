"""The descriptions of a server for programs: OpenRPC and the agent card."""
