"""Observability: logs, metrics and readiness."""
