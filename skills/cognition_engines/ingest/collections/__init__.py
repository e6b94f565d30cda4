"""Collections that are read where they are: their addresses, and what opens them."""
