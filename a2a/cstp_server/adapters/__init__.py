"""Where blocking skills meet the event loop."""
