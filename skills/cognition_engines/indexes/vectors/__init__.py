"""The nearest-neighbour index, and the writer."""
