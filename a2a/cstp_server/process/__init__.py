"""The process around a server: listening, TLS, memory, the model it loads, and its end."""
