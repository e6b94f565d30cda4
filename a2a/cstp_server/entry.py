"""The `cstp` command. The base install has only the client, and says here how to get the rest."""

import sys

SERVER_PACKAGES = ("typer", "rich", "yaml", "pydantic_settings", "sqlalchemy", "starlette", "structlog", "orjson")

try:
    from cstp_server.cli import main as command_line
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in SERVER_PACKAGES:
        raise
    command_line = None  # type: ignore[assignment]


def main() -> None:
    """Runs the command line; exits with 2 when the server's packages are not installed."""
    if command_line is None:
        sys.stderr.write(
            "cstp: this is the client install, for use from Python (`import cstp`).\n"
            'The server and this command line come with: pip install "cognition-cstp[server]"\n'
            'From a checkout: pip install ".[server]"\n'
        )
        sys.exit(2)
    sys.exit(command_line.run(sys.argv[1:]))
