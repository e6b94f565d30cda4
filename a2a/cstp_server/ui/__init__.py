"""The web page: static files, and their preparation by the server."""
