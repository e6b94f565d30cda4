"""Secrets in texts: found by rules, and masked, refused or reported by a policy."""
