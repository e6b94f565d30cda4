"""The page for people: static files, and what the server makes of them."""
