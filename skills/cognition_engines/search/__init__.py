"""Search without threads: the query's text, the legs of a space, the signals, and the fusion of all into one order."""
