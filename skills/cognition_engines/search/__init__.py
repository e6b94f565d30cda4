"""Search without threads: query text, legs per space, signals, and fusion into a single order."""
