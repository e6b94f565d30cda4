"""structlog output in tests: the default, but without rich tracebacks, which take up to a second."""

import structlog


def log_quickly() -> None:
    """Restore the log state expected at the start of every test."""
    structlog.reset_defaults()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(),
        ]
    )
