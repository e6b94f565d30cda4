"""MCP: the methods as tools, over HTTP and over standard input and output."""
