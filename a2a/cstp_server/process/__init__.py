"""The process around a server: listening, TLS, memory, loading the model, and stopping."""
