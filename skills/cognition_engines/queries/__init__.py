"""What can be asked: each part is asked in its pool, within a deadline."""
