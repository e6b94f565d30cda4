"""The checks of `cstp doctor`. Every check only reads, and reports problems instead of raising them."""
