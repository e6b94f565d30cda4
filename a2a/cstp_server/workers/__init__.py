"""Several workers of one server: their parent, what they share, their listener, and the sums of their metrics."""
