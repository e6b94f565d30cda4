"""Several workers of one server: their parent, shared state, listener, and the sums of their metrics."""
