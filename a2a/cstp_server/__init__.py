"""The server: http -> dispatch -> handlers -> adapters, over cognition_engines."""
