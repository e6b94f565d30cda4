"""`docs/cli.md`: every command with its arguments and options, from the command tree, and the exit codes."""

from collections.abc import Iterator
from typing import Any

import typer

from cstp.errors import ERRORS
from cstp_server.cli.exit_codes import FAMILIES, MEANINGS
from cstp_server.cli.main import app

_ABOUT = """# The command line

Generated from `cstp_server.cli` by `make docs`. Every command prints the same with `--help`.

Before the command or after it, `--data-dir FOLDER` names the folder that holds everything (default: `./data`) and
`--config FILE` a settings file; other settings are in [configuration](configuration.md). What is meant for machines
goes to standard output, all else to standard error. Progress bars and colours are for terminals alone; `NO_COLOR=1`
switches colours off.

Completion of commands, options, methods and their parameters: `eval "$(cstp completion bash)"` in `~/.bashrc`,
`eval "$(cstp completion zsh)"` after `compinit` in `~/.zshrc`, or `cstp completion fish | source` in `config.fish`.

`cstp call` and `cstp status URL` ask other hosts through the proxy that `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY`
names, unless `NO_PROXY` excepts them, and this machine directly; `cstp conform` holds its conversations without a
proxy. `SSL_CERT_FILE` names the PEM file of certificates to trust instead of the usual ones.

## Exit codes

| code | meaning |
|---|---|"""


def cli_page() -> str:
    """Return the page as Markdown."""
    lines = [_ABOUT, *(f"| {code} | {meaning}{_errors_of(code)} |" for code, meaning in MEANINGS.items())]
    root: Any = typer.main.get_command(app)
    for name in root.list_commands(None):
        lines += _section(root.get_command(None, name), f"cstp {name}", "##")
    return "\n".join(lines) + "\n"


def _errors_of(exit_code: int) -> str:
    codes = [str(error.code) for error in ERRORS if FAMILIES[error.family] == exit_code]
    return f" ({', '.join(codes)})" if codes else ""


def _section(command: Any, path: str, heading: str) -> Iterator[str]:
    yield from ("", f"{heading} {path}", "", _joined(command.help))
    if command.epilog:
        yield from ("", command.epilog.replace("Example: ", "Example: `", 1) + "`")
    inner = getattr(command, "commands", None)
    if inner is not None:
        for name, one in inner.items():
            yield from _section(one, f"{path} {name}", f"{heading}#")
        return
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    words = [path, "[OPTIONS]" if options else "", *(_usage(one) for one in arguments)]
    yield from ("", "```text", " ".join(filter(None, words)), "```")
    rows = [(f"`{_usage(one)}`", one.help) for one in arguments]
    rows += [(f"`{', '.join(one.opts)}{_value(one)}`", _with_default(one)) for one in options]
    if rows:
        yield from ("", "| | |", "|---|---|")
        yield from (f"| {name} | {_joined(text).replace('|', chr(92) + '|')} |" for name, text in rows)


def _usage(argument: Any) -> str:
    name = f"{argument.metavar or argument.name.upper()}{'...' if argument.nargs == -1 else ''}"
    return name if argument.required else f"[{name}]"


def _value(option: Any) -> str:
    return "" if option.is_flag else f" {option.metavar or option.name.upper()}"


def _with_default(option: Any) -> str:
    shown = "" if option.is_flag or option.default in (None, "", []) else f" Default: `{option.default}`."
    variable = f" Also from `{option.envvar}`." if option.envvar else ""
    return f"{option.help or ''}{shown}{variable}"


def _joined(text: str | None) -> str:
    """Paragraphs of one line each."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))
