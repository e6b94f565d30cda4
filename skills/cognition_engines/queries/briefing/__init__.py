"""The briefing for the start of a session: its records, their items, and the choice of those that fit."""
