"""The briefing for a session's start: records, items, and the choice of fitting items."""
