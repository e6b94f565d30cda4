"""Ranking: the two legs of a search, their fusion, and the snippets of the hits."""
