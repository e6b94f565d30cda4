"""Store copies: backup, restore, another database."""
