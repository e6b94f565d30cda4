"""The process around a server: listening, TLS, memory, the engine it opens, and its end."""
