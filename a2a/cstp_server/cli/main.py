"""The command tree.

A family's module is imported when a command of the family runs: a short command does not wait for another family's
imports, and help and completion do not wait at all.
"""

import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.completion import get_completion_inspect_parameters
from typer.core import TyperGroup

from cognition_engines.errors import ComponentFailed, ConfigurationError, EngineError
from cstp_server.cli.conventions import (
    FAILED,
    MISUSED,
    STOPPED,
    UNREACHABLE,
    CommonOptions,
    ConfigOption,
    DataDirOption,
    Unreachable,
)
from cstp_server.cli.utf8_texts import check_texts
from cstp_server.terminal import say

_COMPLETE: Final = "_CSTP_COMPLETE"

_REMEDIES: Final[Mapping[str, str]] = {
    "records": "{}: check that the database named above is running, undamaged (`cstp doctor`) and has space",
    "target": "{}; nothing was copied: check that the target database is running and has space",
    "embedder": "{}: the embedding model does not work; see `cstp config` (embedding.*)",
}


class _Entry(NamedTuple):
    """First help line of a command, an example, and the defining module, if named differently."""

    about: str
    example: str
    module: str | None = None


_GROUPS: Final[Mapping[str, Mapping[str, _Entry]]] = {
    "Ask a server": {
        "search": _Entry("Search records of all kinds, and print a list", "cstp search 'why SQLite'", "call"),
        "context": _Entry("Print a briefing for the start of a session", "cstp context 'restore a backup'"),
        "check": _Entry("Print the decisions that govern changed files", "cstp check --base main"),
        "suggest-affects": _Entry(
            "Propose patterns for decisions without any, as a patch", "cstp suggest-affects docs/adr", "suggest_affects"
        ),
        "call": _Entry("Call a method and print its result", "cstp call cstp.getStats"),
        "record": _Entry("Record a decision", "cstp record 'Keep orders in PostgreSQL' --confidence 0.8", "authoring"),
        "review": _Entry("State how a decision turned out", "cstp review dec_3f2a success", "authoring"),
        "remember": _Entry(
            "Remember something said or written", "cstp remember 'The oven is free on Mondays'", "authoring"
        ),
        "forget": _Entry(
            "Forget a record and all records derived from it, permanently", "cstp forget dec_3f2a", "authoring"
        ),
        "changes": _Entry(
            "Print changes of the records that the token can see, oldest first", "cstp changes --since now --follow"
        ),
        "ui": _Entry("Open the page that shows the records in a browser", "cstp ui"),
    },
    "Open the folder": {
        "ingest": _Entry("Read records of all kinds", "cstp ingest docs notes.jsonl"),
        "watch": _Entry("Read folders and files, and again when they change, until stopped", "cstp watch docs"),
        "move": _Entry("Move the records of a folder that was moved", "cstp move notes archive/notes", "backup"),
        "map": _Entry("Propose a map that turns objects of another system into records", "cstp map dump.jsonl"),
        "show": _Entry("Print one complete record", "cstp show dec_3f2a", "records"),
        "delete": _Entry("Delete records from everything", "cstp delete src_notes", "records"),
        "schema": _Entry("Print the JSON Schema of a record", "cstp schema decision", "records"),
        "export": _Entry("Write all records as lines of JSON", "cstp export records.jsonl", "export_import"),
        "import": _Entry("Import exported records", "cstp import records.jsonl", "export_import"),
        "site": _Entry("Write records as a static site", "cstp site public", "ui"),
    },
    "Operate": {
        "demo": _Entry("Serve the decisions and pages of this project and a sample", "cstp demo"),
        "serve": _Entry("Answer calls until stopped", "cstp serve --port 8200"),
        "mcp": _Entry("Serve MCP on standard input and output", "cstp mcp --agent claude"),
        "setup": _Entry("Add CSTP to the configuration of an agent's program", "cstp setup claude-code"),
        "hook": _Entry("Give an agent context at an event of its program", "cstp hook session-start", "setup"),
        "token": _Entry(
            "Create, list, revoke and rotate bearer tokens", "cstp token create --agent me --scope read --scope write"
        ),
        "audit": _Entry(
            "Show which records were read and written, and verify that the audit is intact", "cstp audit list"
        ),
        "status": _Entry("Show the content of the data folder, and whether a server answers", "cstp status"),
        "config": _Entry("Show every setting, its value and the source of the value", "cstp config", "status"),
        "doctor": _Entry("Check settings, folder, tokens, model, records, indexes, limits and server", "cstp doctor"),
        "reindex": _Entry("Rebuild the indexes", "cstp reindex"),
        "compact": _Entry(
            "Rewrite the database and the indexes, so that no file holds bytes of deleted or forgotten records",
            "cstp compact",
            "reindex",
        ),
        "copy": _Entry(
            "Copy all records, with their vectors, into another database",
            "cstp copy --to postgresql://me@db/cstp",
            "backup",
        ),
        "backup": _Entry("Write all records, their vectors and the tokens to one file", "cstp backup monday.cstp"),
        "restore": _Entry("Make the records equal to a backup", "cstp restore monday.cstp", "backup"),
        "conform": _Entry(
            "Replay the conversations that define the protocol against a server",
            "cstp conform https://decisions.example.org",
        ),
        "completion": _Entry("Print a completion script for a shell", 'eval "$(cstp completion bash)"'),
    },
}
_COMMANDS: Final[Mapping[str, _Entry]] = {
    name: entry for commands in _GROUPS.values() for name, entry in commands.items()
}


_FAMILIES: Final = ("token", "audit")  # commands with subcommands


@dataclass(frozen=True, slots=True)
class _Offered:
    """A completion for a shell; typer's own class is private."""

    value: str
    help: str | None = None
    type: str = "plain"


class _Commands(TyperGroup):
    # the context's own class is private to typer
    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        gc.disable()  # modules leave no garbage, and looking for it takes a tenth of their import
        module = importlib.import_module(f"cstp_server.cli.commands.{_COMMANDS[cmd_name].module or cmd_name}")
        gc.enable()
        family: Any = typer.main.get_command(module.app)
        command = family if cmd_name in _FAMILIES else family.commands[cmd_name]
        command.name = cmd_name
        command.epilog = f"Example: {_COMMANDS[cmd_name].example}"
        check_texts(command)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except typer.TyperException as error:
            near = get_close_matches(args[0], _COMMANDS, 1)
            if near:
                error.message = f"{error.message.rstrip('.')}, did you mean {near[0]}?"
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, f"{entry.about}.") for name, entry in commands.items()])
        with formatter.section("Examples"):
            formatter.write_text("\n\n".join(next(iter(one.values())).example for one in _GROUPS.values()))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        # names only: describing each command would import every module
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [_Offered(name) for name in _COMMANDS if name.startswith(incomplete)]


app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(importlib.import_module("cstp").__version__)
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """CSTP: ask an agent what it decided, learned and remembers."""
    ctx.obj = CommonOptions(data_dir, config)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code; see `cli.conventions`."""
    command = typer.main.get_command(app)
    if _COMPLETE in os.environ:
        get_completion_inspect_parameters()  # which makes the shells known, as add_completion would
    try:
        result = command.main(list(arguments) or ["--help"], prog_name="cstp", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except typer.TyperException as error:
        return _print_failure(_in_words(error), code=error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _print_failure("stopped", code=STOPPED)
    except ConfigurationError as error:
        return _print_failure(*error.reasons, code=MISUSED)
    except Unreachable as error:
        return _print_failure(str(error), code=UNREACHABLE)
    except ComponentFailed as error:
        return _print_failure(_REMEDIES.get(error.component, "{}").format(error), code=FAILED)
    except EngineError as error:
        return _print_failure(str(error), code=FAILED)
    except BrokenPipeError:
        # the reader is closed; the interpreter must not flush at exit into a closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        return _print_failure(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=FAILED)
    return result if isinstance(result, int) else 0


def _print_failure(*reasons: str, code: int) -> int:
    with suppress(OSError):  # the exit code reports it, too
        say(f"cstp: {reasons[0]}", err=True)
        for reason in reasons[1:]:
            say(reason, err=True)
    return code


def _in_words(error: typer.TyperException) -> str:
    """Describe a command line fault, and how to get help."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    path = "cstp" if context is None else context.command_path
    asks = context is not None and context.info_name in _GROUPS["Ask a server"]
    if asks and getattr(error, "option_name", None) in ("--data-dir", "--config"):
        message += f". `{path}` asks a server: give --url, or start one with `cstp serve --data-dir FOLDER`"
    return f"{message[:1].lower()}{message[1:]}; see: {path} --help"
