"""JSON-RPC: from the bytes of a request to calls of methods, and back."""
