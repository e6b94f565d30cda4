"""HTTP: requests and responses as bytes, authentication, and the checks before a body is read."""
