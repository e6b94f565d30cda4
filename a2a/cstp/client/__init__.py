"""The client: what sends calls and reads answers, for synchronous and asynchronous programs."""
