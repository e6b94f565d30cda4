"""What structlog writes in tests: as by default, but no traceback is drawn by rich, which takes up to a second."""

import structlog


def log_quickly() -> None:
    """Back to where every test begins."""
    structlog.reset_defaults()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(),
        ]
    )
