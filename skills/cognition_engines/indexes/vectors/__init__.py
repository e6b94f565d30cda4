"""The nearest-neighbour index, and what writes it."""
