"""Readers of files and collections, and the update of the store from them."""
