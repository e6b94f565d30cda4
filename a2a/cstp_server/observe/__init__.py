"""What operators see: logs, metrics and readiness."""
