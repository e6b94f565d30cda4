"""Chroma as the nearest-neighbour index, in a folder or as a server."""
