"""Texts generated from code.

These are `config/server.yaml`, `docs/configuration.md`, `docs/errors.md`, `docs/cli.md`, `docs/openrpc.json`,
`docs/methods/*.md`, and the client's typed methods in `a2a/cstp/`.

`python -m cstp_server.generate --write` writes them into the checkout; without `--write` it names differing files.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, TypeAlias

import typer
from pydantic.fields import FieldInfo

from cstp.errors import ERRORS, CstpError
from cstp_server.cli.conventions import FAMILIES, MEANINGS
from cstp_server.cli.main import app
from cstp_server.describe.openrpc import document_text
from cstp_server.generate import client_code
from cstp_server.generate.method_pages import anchor, method_pages, wire_spelling
from cstp_server.settings import Settings
from cstp_server.source_settings import Section

Row: TypeAlias = tuple[str, str]
_SEVERAL: Final = 3  # commands with an equal option
_ABOUT = """# The command line

Generated from `cstp_server.cli` by `make docs`. Every command prints the same with `--help`.

Before the command or after it, `--data-dir FOLDER` names the folder that holds everything and `--config FILE` a
settings file; other settings are in [configuration](configuration.md). What is meant for machines goes to standard
output, all else to standard error. Progress bars and colours are for terminals alone; `NO_COLOR=1` switches colours
off. Texts must be UTF-8 (else code 2); names of files may be any bytes.

Without `--data-dir`, `CSTP_DATA_DIR` and `data_dir` in a settings file, the data folder is found, and printed on
standard error. In a git checkout it is the first data folder named `.cstp` or `data` from the working folder up to the
top of the checkout, else the folder for the repository in `~/.local/share/cstp` (`XDG_DATA_HOME`; on macOS
`~/Library/Application Support/cstp`). Outside of a checkout it is `./data`.

Completion of commands, options, methods and their parameters: `eval "$(cstp completion bash)"` in `~/.bashrc`,
`eval "$(cstp completion zsh)"` after `compinit` in `~/.zshrc`, or `cstp completion fish | source` in `config.fish`.

`cstp call` and `cstp status URL` ask other hosts through the proxy that `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY`
names, unless `NO_PROXY` excepts them, and this machine directly; `cstp conform` holds its conversations without a
proxy. `SSL_CERT_FILE` names the PEM file of certificates to trust instead of the usual ones.

Each command's arguments are listed in their order, before its options; those in brackets may be absent.

## Exit codes

| code | meaning |
|---|---|"""


def cli_page() -> str:
    """Return the page as Markdown."""
    commands = list(_commands(typer.main.get_command(app), "cstp", "#"))
    common = _common_rows([row for _, _, command in commands for row in _option_rows(command)])
    lines = [_ABOUT, *(f"| {code} | {meaning}{_errors_of(code)} |" for code, meaning in MEANINGS.items())]
    lines += ["", "## Options of several commands", "", *_table_of(common)]
    for heading, path, command in commands:
        lines += _command_section(command, f"{heading} {path}", common)
    return "\n".join(lines) + "\n"


def _commands(group: Any, path: str, heading: str) -> Iterator[tuple[str, str, Any]]:
    """Yield heading, path and command of each command below a group, a group before its own commands."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield f"{heading}#", f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}", f"{heading}#")


def _common_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Return options equal in at least _SEVERAL commands; if a name has several meanings, the most frequent."""
    counted = Counter(rows).most_common()
    found = {name: row for row, count in reversed(counted) if count >= _SEVERAL for name in row[:1]}
    return [row for row, _ in counted if row in found.values()]


def _errors_of(exit_code: int) -> str:
    codes = [str(error.code) for error in ERRORS if FAMILIES[error.family] == exit_code]
    return f" ({', '.join(codes)})" if codes else ""


def _command_section(command: Any, title: str, common: Sequence[Row]) -> Iterator[str]:
    yield from ("", title, "", _join_lines(command.help))
    if command.epilog:
        yield from ("", command.epilog.replace("Example: ", "Example: `", 1) + "`")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = _option_rows(command)
    rows = [(f"`{_usage(one)}`", one.help) for one in arguments] + [row for row in options if row not in common]
    if rows:
        yield from ("", *_table_of(rows))
    names = [name.strip("`").partition(" ")[0].rstrip(",") for name, _ in (row for row in options if row in common)]
    shared = ", ".join(f"`{name}`" for name in names)
    if shared:
        yield from ("", f"{'Also' if rows else 'Options:'} {shared}.")


def _option_rows(command: Any) -> list[Row]:
    """Return the options of a command, each with the description; none of a group."""
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    return (
        []
        if hasattr(command, "commands")
        else [(f"`{', '.join(one.opts)}{_value(one)}`", _with_default(one)) for one in options]
    )


def _table_of(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {_join_lines(text).replace('|', chr(92) + '|')} |" for name, text in rows)


def _usage(argument: Any) -> str:
    name = f"{argument.metavar or argument.name.upper()}{'...' if argument.nargs == -1 else ''}"
    return name if argument.required else f"[{name}]"


def _value(option: Any) -> str:
    return "" if option.is_flag else f" {option.metavar or option.name.upper()}"


def _with_default(option: Any) -> str:
    shown = "" if option.is_flag or option.default in (None, "", []) else f" Default: `{option.default}`."
    variable = f" Also from `{option.envvar}`." if option.envvar else ""
    return f"{option.help or ''}{shown}{variable}"


def _join_lines(text: str | None) -> str:
    """Join each paragraph's lines into a single line."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


ROOT: Final = Path(__file__).parents[3]
_COMMAND: Final = "make docs"

EXAMPLES: Final[Sequence[CstpError]] = [error(**error.example) for error in ERRORS]


def settings_file() -> str:
    """Return every setting with default and description as valid YAML."""
    lines = [
        "# Every setting with its default. Flags and CSTP_* environment variables win over this file; see",
        f"# docs/configuration.md. Generated from cstp_server.settings: `{_COMMAND}`.",
    ]
    for name, field in Settings.model_fields.items():
        section = _section(field)
        if section is None:
            lines += ["", *_entry("", name, field, Settings().model_dump(mode="json")[name])]
            continue
        lines += ["", f"# {_summary(section)}", f"{name}:"]
        for key, value in section().model_dump(mode="json").items():
            lines += _entry("  ", key, section.model_fields[key], value)
    return "\n".join(lines) + "\n"


def configuration_page() -> str:
    """Return `docs/configuration.md`, with a table for each section."""
    lines = [
        "# Configuration",
        "",
        f"Generated from `cstp_server.settings` by `{_COMMAND}`.",
        "",
        "A value comes from the first of these that has it:",
        "",
        "1. a flag, such as `--port`;",
        "2. an environment variable: `CSTP_`, the section, two underscores, the name. Lists and mappings are JSON;",
        "   an empty variable counts as absent;",
        "3. the file named with `--config`, else the one that `CSTP_CONFIG` names, else the one that ships with the",
        "   server. A settings file that lies in the working folder is not used unless it is named;",
        "4. the default.",
        "",
        "`cstp config` shows every value in force and where it came from. An unknown name or a value that is not",
        "allowed is refused at the start, naming the setting and its source. That holds for every variable whose name",
        "begins with `CSTP_`; besides the settings there are `CSTP_CONFIG`, `CSTP_URL` and `CSTP_TOKEN`. Kubernetes",
        "makes others for a Service named `cstp` (such as `CSTP_PORT`): name it otherwise, or set",
        "`enableServiceLinks: false`.",
        "",
        "A command that opens a store says on standard error where it is and where its settings come from.",
    ]
    for name, field in Settings.model_fields.items():
        section = _section(field)
        if section is None:
            lines += ["", *_table([(name, field, Settings().model_dump(mode="json")[name])])]
            continue
        values = section().model_dump(mode="json")
        rows = [(f"{name}.{key}", inner, values[key]) for key, inner in section.model_fields.items()]
        lines += ["", f"## `{name}`", "", _summary(section), "", *_table(rows)]
    return "\n".join(lines) + "\n"


def errors_page() -> str:
    """Return `docs/errors.md`, with a section for each error."""
    lines = [
        "# Errors",
        "",
        f"Generated from `cstp.errors` by `{_COMMAND}`.",
        "",
        "An error's `message` is fixed for its `code`; what varies is in `data`, of which an example is shown. Nothing",
        "that a caller sent is repeated, except the names of parameters in `violations`. A member that an object has",
        "twice is no error: the last one counts, over `/cstp` as over MCP.",
        "",
        "| code | message | HTTP status |",
        "|---|---|---|",
    ]
    lines += [f"| [{error.code}](#{anchor(error)}) | {error.message} | {error.http} |" for error in EXAMPLES]
    for error in EXAMPLES:
        meaning = wire_spelling(cleandoc(str(type(error).__doc__)))
        lines += ["", f"## {error.code} {error.message}", "", meaning, "", error.meaning]
        if error.data is not None:
            lines += ["", "```json", json.dumps(error.data), "```"]
    lines += [
        "",
        "## Where else an answer has no result",
        "",
        "* 204 without a body: only notifications were sent, whatever came of them.",
        "* 405 without a body, with `Allow: POST`: another HTTP method. A token is not looked at.",
        "* 400 as plain text: a head that is too large or no HTTP (`server.max_header_bytes`, `server.max_headers`).",
        "* 404 as plain text: another path; calls go to `/cstp`.",
        "* 408 as plain text: a request that does not arrive whole within `server.receive_seconds`.",
        "",
        "The checks run in this order: 405, 401 or 429, 415, 413, 503, then the body is read.",
    ]
    return "\n".join(lines) + "\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "config/server.yaml": settings_file,
    "docs/configuration.md": configuration_page,
    "docs/errors.md": errors_page,
    "docs/openrpc.json": document_text,
    "docs/cli.md": cli_page,
    **method_pages(),
    **client_code.PAGES,
}


def _section(field: FieldInfo) -> type[Section] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _summary(section: type[Section]) -> str:
    return cleandoc(str(section.__doc__))


def _entry(indent: str, name: str, field: FieldInfo, value: object) -> Iterator[str]:
    yield f"{indent}# {field.description}"
    yield f"{indent}{name}: {json.dumps(value)}"


def _table(rows: Sequence[tuple[str, FieldInfo, object]]) -> Iterator[str]:
    yield "| setting | environment | default | reason |"
    yield "|---|---|---|---|"
    for name, field, value in rows:
        variable = "CSTP_" + name.upper().replace(".", "__")
        yield f"| `{name}` | `{variable}` | `{json.dumps(value)}` | {field.description} |"


def main(arguments: Sequence[str]) -> int:
    """Write the files, or print those that differ from the code; return the exit code."""
    if not (ROOT / "pyproject.toml").is_file():
        sys.stderr.write("reference: these files belong to a checkout, and this is an installed copy\n")
        return 2
    stale = []
    for path, text in PAGES.items():
        file = ROOT / path
        if file.is_file() and file.read_text(encoding="utf-8") == text():
            continue
        stale.append(path)
        if "--write" in arguments:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text(), encoding="utf-8")
    for path in stale:
        sys.stdout.write(f"{'written' if '--write' in arguments else 'out of date'}: {path}\n")
    return 1 if stale and "--write" not in arguments else 0
