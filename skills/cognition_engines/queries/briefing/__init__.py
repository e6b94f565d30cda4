"""The briefing for a session's start: its records, their items, and the choice of fitting items."""
