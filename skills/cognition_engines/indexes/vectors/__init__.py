"""The nearest-neighbour index, and its writer."""
