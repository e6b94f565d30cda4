"""Several workers of a server: their parent, shared state, listener, and summed metrics."""
