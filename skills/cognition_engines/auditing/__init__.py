"""The audit of calls while they are answered."""
