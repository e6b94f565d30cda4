"""The command tree. A family's module is imported when one of its commands is asked for, so that a short command does
not wait for the imports of a long one.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import click
import typer
from typer.core import TyperGroup

import cstp
from cognition_engines.errors import ConfigurationError, EngineError
from cstp_server.cli.options import ConfigOption, DataDirOption, Given
from cstp_server.tokens import TokenRefused

FAILED: Final = 1
MISUSED: Final = 2

# command -> module that defines it as `app`
_FAMILIES: Final[Mapping[str, str]] = {
    "demo": "demo",
    "serve": "serve",
    "ingest": "ingest",
    "show": "records",
    "delete": "records",
    "schema": "records",
    "token": "token",
    "call": "call",
    "status": "status",
    "config": "status",
    "reindex": "reindex",
}


class _Commands(TyperGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_FAMILIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Any:
        if cmd_name not in _FAMILIES:
            return None
        # the one place that imports by name: a table from command to module needs it
        module = importlib.import_module(f"cstp_server.cli.{_FAMILIES[cmd_name]}")
        family = typer.main.get_command(module.app)
        if cmd_name == "token":
            family.name = cmd_name
            return family
        return family.commands[cmd_name]


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(cstp.__version__)
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
) -> None:
    """CSTP: ask an agent what it decided, learned and remembers."""
    ctx.obj = Given(data_dir, config)


def run(arguments: Sequence[str]) -> int:
    """Runs one command; its exit code: 0, 1 when it failed, 2 when it was misused or misconfigured."""
    try:
        result = app(list(arguments), standalone_mode=False, prog_name="cstp")
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        return 130
    except (ConfigurationError, TokenRefused) as error:
        sys.stderr.write(f"cstp: {error}\n")
        return MISUSED
    except EngineError as error:
        sys.stderr.write(f"cstp: {error}\n")
        return FAILED
    except BrokenPipeError:
        return FAILED
    return result if isinstance(result, int) else 0
