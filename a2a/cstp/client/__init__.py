"""The client: sends calls and reads answers, for synchronous and asynchronous programs."""
