"""JSON-RPC: from request bytes to method calls, and back."""
