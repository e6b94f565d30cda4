"""HTTP: bytes in, bytes out; who asks, and what must hold before a body is read."""
