"""`cstp mcp`."""

import asyncio
import os
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cognition_engines.errors import ConfigurationError
from cstp.client.async_client import AsyncClient
from cstp_server.cli.options import (
    FolderOptions,
    command_family,
    naming_a_store_that_fails,
    places_of,
    repository_here,
    store_line,
)
from cstp_server.mcp.profiles import UnknownTools, check_tools, chosen_tools
from cstp_server.mcp.remote import answer_from_server
from cstp_server.observe.log import announce, configure_logging, write_rest
from cstp_server.process.malloc import share_arenas
from cstp_server.serve_stdio import Identify, answer_from_folder, take_if_free
from cstp_server.settings import Settings
from cstp_server.tokens import Token, TokenBook, ensure_first_token

app = command_family()


@app.command("mcp")
def mcp_command(
    folder: FolderOptions,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use the rights of this agent's newest live token.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask this server instead of a data folder."),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help="Tools: ask, record, all, or names with commas. Default: mcp.tools."),
    ] = None,
    cwd: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Work in this folder, for a client that starts elsewhere.")
    ] = None,
) -> None:
    """Serve MCP on standard input and output, for a client that starts it; see docs/mcp.md.

    The caller is --agent, or the token in CSTP_TOKEN. Tools that show an agent what applies to its work leave out the
    decisions in files of repositories other than the one in which this command runs.
    """
    _enter(cwd)
    loaded = folder.load_settings()
    settings = loaded.settings
    if sys.stdin is None or sys.stdout is None:
        raise ConfigurationError("standard input and output must be open: an MCP client starts this command")
    chosen, here = _chosen(settings, tools), repository_here()
    configure_logging(settings.log)
    folder.ctx.call_on_close(write_rest)
    if url is not None:
        if agent is not None or folder.data_dir is not None:
            raise typer.BadParameter(
                "requires a token in CSTP_TOKEN, without --agent or --data-dir", param_hint="--url"
            )
        try:
            client = AsyncClient(url, timeout=settings.server.handler_seconds)
        except (ValueError, ImportError) as error:  # of httpx, which lacks a package for SOCKS
            raise typer.BadParameter(str(error), param_hint="--url") from error
        asyncio.run(answer_from_server(client, settings, chosen, here))
        return
    if agent is not None and here is not None and loaded.origin_of("data_dir") == "default":
        ensure_first_token(settings.tokens_path, agent)  # `cstp setup` did so in another repository only
    identify = _identify(settings, agent, os.environ.get("CSTP_TOKEN"))
    share_arenas()
    with naming_a_store_that_fails(loaded):
        holding = take_if_free(settings)
    announce("opened", store_line(loaded), **places_of(loaded))
    asyncio.run(answer_from_folder(settings, identify, holding, chosen, here))


def _enter(folder: Path | None) -> None:
    if folder is not None and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is not a folder; open one in the client", param_hint="--cwd")
    os.chdir(folder or ".")


def _chosen(settings: Settings, tools: str | None) -> Collection[str]:
    """Return the chosen tool names. Raise ConfigurationError or BadParameter for a wrong choice."""
    try:
        return check_tools(settings) if tools is None else chosen_tools(tools)
    except UnknownTools as error:
        raise typer.BadParameter(str(error), param_hint="--tools") from None


def _identify(settings: Settings, agent: str | None, secret: str | None) -> Identify:
    """Return a function for finding the caller's token. Raise ConfigurationError without a token."""
    if agent is None and not secret:
        raise ConfigurationError("no agent: give --agent NAME, or a token in CSTP_TOKEN")

    def identify(book: TokenBook) -> Token | None:
        now = datetime.now(UTC)
        return book.find((secret or "").encode(), now) if agent is None else book.newest(agent, now)

    book = TokenBook(settings.tokens_path, settings.auth.reload_seconds)
    book.refresh(0)
    if identify(book) is None:
        whose = "the one in CSTP_TOKEN" if agent is None else f"one of {agent}"
        raise ConfigurationError(
            f"{settings.tokens_path}: has no live token that is {whose}; create one: cstp token create --agent NAME"
        )
    return identify
