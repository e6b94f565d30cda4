"""`cstp demo`: a server with the project's decisions and pages and a sample, and lines to paste."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Annotated, Final

import typer

from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.options import Amount, Options
from cognition_engines.ingest.run import ingest
from cstp.errors import CstpError, TransportError
from cstp_server.cli.commands.serve import HostOption, PortOption
from cstp_server.cli.conventions import ConfigOption
from cstp_server.cli.demo_calls import CALLS, Call, write_through
from cstp_server.cli.options import command_family, places_of, settings_for, store_line
from cstp_server.cli.store import records_in
from cstp_server.observe.log import announce, configure_logging, write_rest
from cstp_server.process.listen import bind
from cstp_server.process.model import open_model
from cstp_server.process.stop import ended_by_signals
from cstp_server.serve import serve
from cstp_server.settings import Settings
from cstp_server.terminal import say, say_lines
from cstp_server.tokens import create_token
from cstp_server.ui.grants import make_grant, make_link

app = command_family()
_LIFETIME: Final = timedelta(days=1)  # of the demo's tokens
_LINK_MINUTES: Final = 10  # for a person to open the page
_CLOSING_SECONDS: Final = 10.0  # seconds for a demo to close its parts if stopped during the start
# pages of docs/ read as documents; the wheel has them too
PAGES: Final = ("architecture", "decision-files", "getting-started", "operations", "security")
# on a terminal three calls are enough to begin with
_FIRST: Final = (
    "search 'why are the records in SQLite'",
    "record 'Bake rye bread on Mondays' --confidence 0.7",
    "call cstp.getStats",
)
AllOption = Annotated[
    bool,
    typer.Option("--all", help="Print a call of each method, also for curl and HTTPie, and the writes of an agent."),
]


class _Quiet:
    """No progress bar: the samples are few."""

    def start(self, total: Amount) -> None:
        sentence = f"reading {total.size / 1000:.0f} kB of decisions, pages and records (about ten seconds) ..."
        _tell("reading", sentence, bytes=total.size)

    def advance(self, done: Amount) -> None:
        """Draw nothing."""


def demo_paths() -> list[Path]:
    """Return the demo's decisions, pages and sample: from the wheel, or from an editable install's checkout."""
    packaged = Path(str(files("cstp_server"))) / "demo"
    folder = packaged if packaged.is_dir() else Path(__file__).parents[4] / "docs"
    return [folder / "decisions", folder / "sample", *(folder / f"{page}.md" for page in PAGES)]


@app.command("demo")
def demo_command(
    ctx: typer.Context,
    host: HostOption = None,
    port: PortOption = None,
    every: AllOption = False,
    config: ConfigOption = None,
) -> None:
    """Serve the decisions and pages of this project and a sample, from a temporary folder, with a new token.

    Prints three calls, the command for MCP and a link to the page. On a terminal, the log is in that folder.
    """
    say()  # a demo unable to print its calls ends here, before reading anything
    with ended_by_signals(_CLOSING_SECONDS) as watchdog, TemporaryDirectory(prefix="cstp-demo-") as folder:
        # a demo writes to its own folder alone, whatever the environment names
        own = {
            "store.url": f"sqlite:///{folder}/records.sqlite3",
            "auth.tokens_file": f"{folder}/tokens.json",
        }
        loaded = settings_for(ctx, Path(folder), config, {"server.host": host, "server.port": port, **own})
        # no flag expresses "none"
        vectors = loaded.settings.vectors.model_copy(update={"url": None})
        settings = loaded.settings.model_copy(update={"vectors": vectors})
        ctx.call_on_close(write_rest)
        with _log_to_file(settings, Path(folder)), bind(settings) as listener:
            announce("opened", store_line(loaded), **places_of(loaded))
            embedder = open_model(settings)
            _load(settings, embedder)
            scopes = ("read", "write", "review")
            _, token = create_token(settings.tokens_path, "demo", scopes=scopes, lifetime=_LIFETIME)
            host, port = listener.getsockname()[:2]
            place = f"[{host}]" if ":" in host else host
            scheme = "http" if settings.server.ssl_certfile is None else "https"

            url = f"{scheme}://{place}:{port}/cstp"

            def say_where() -> None:
                # in a thread, for the server answers when this function has returned
                say_calls = _say_all if every else _say_first
                Thread(target=_say, args=(say_calls, token, url, settings), daemon=True, name="demo").start()

            serve(settings, listener, say_where, watchdog, lambda: embedder)


def _load(settings: Settings, embedder: Embedder | None) -> None:
    with records_in(settings.data_dir) as records:
        # the same ids wherever the demo is installed
        options = Options(repository="cstp")
        ingest(demo_paths(), options, records, embedder, _Quiet(), settings.embedding.threads)


@contextmanager
def _log_to_file(settings: Settings, folder: Path) -> Iterator[None]:
    """Log to standard error, or to a file in the folder if standard error is a terminal, reserved for the calls."""
    if not sys.stderr.isatty():
        configure_logging(settings.log)
        yield
        return
    with (folder / "log").open("w", encoding="utf-8", buffering=1) as file:
        configure_logging(settings.log.model_copy(update={"format": "json"}), file)
        yield
        configure_logging(settings.log)


def _tell(event: str, sentence: str, **fields: int) -> None:
    """Announce it, also on a terminal, which has no log."""
    announce(event, sentence, level="info", **fields)
    if sys.stderr.isatty():
        say(sentence, err=True)


def _say(say_calls: Callable[[str, str, Settings], None], token: str, url: str, settings: Settings) -> None:
    with suppress(OSError):  # the reader is closed; calls are still answered
        say_calls(token, url, settings)
        if settings.ui_enabled:
            say(f"Open this link in a browser (single use, valid for {_LINK_MINUTES} minutes, full access):")
            say(_link(url, settings))


def _say_first(token: str, url: str, _settings: Settings) -> None:
    """Print the first calls; all calls fit on a terminal."""
    base, program = url.removesuffix("/cstp"), _program()
    say(f"CSTP answers on {url} until Ctrl-C. In another terminal, here:")
    say_lines(f"\nexport CSTP_URL={base} CSTP_TOKEN={token}")
    for call in _FIRST:
        say(f"{program} {call}")
    say(f'claude mcp add --transport http cstp {base}/mcp --header "Authorization: Bearer $CSTP_TOKEN"')
    say()
    say(f"For a call of each method, stop this one and start: {program} demo --all")


def _say_all(token: str, url: str, settings: Settings) -> None:
    _print_writes(token, url, settings.server.ssl_certfile)
    _print_calls(token, url)


def _program() -> str:
    """Return the path of this installation's `cstp`, relative if below the working folder."""
    path = Path(sys.executable).with_name("cstp")
    if not path.is_file():
        return "cstp"
    here = Path.cwd()
    return quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _link(url: str, settings: Settings) -> str:
    """Return a link for a token with full access to a demo."""
    grant = make_grant(
        "ui",
        scopes=("read", "write", "review", "admin"),
        clearance="highly_sensitive",
        lifetime=_LIFETIME,
        link_lifetime=timedelta(minutes=_LINK_MINUTES),
    )
    return make_link(url.removesuffix("/cstp"), settings.ui_links_path, grant)


def _print_writes(token: str, url: str, certificate: str | None) -> None:
    """Let an agent write, and print calls with results."""
    say("An agent can also write; these calls have just run:")
    try:
        for call, shown in write_through(url, token, certificate):
            say_lines(f"\n# {call.about}\n{_command(call)}")
            say(f"# -> {json.dumps(shown, ensure_ascii=False)}")
    except (CstpError, TransportError) as error:
        say(f"# the demo cannot write: {error}", err=True)
    say()


def _print_calls(token: str, url: str) -> None:
    say(f"CSTP answers on {url} until you press Ctrl-C. Ask it, from another terminal:")
    for call in CALLS:
        say_lines(f"\n# {call.about}\n{_curl(call, url, token)}")
    base = url.removesuffix("/cstp")
    say_lines(f"\n# The same with cstp call\nexport CSTP_URL={base} CSTP_TOKEN={token}\n{_command(CALLS[0])}")
    header = f'--header "Authorization: Bearer {token}"'
    say_lines(f"\n# Over MCP, in Claude Code\nclaude mcp add --transport http cstp {base}/mcp {header}")
    first = CALLS[0]
    params = f"params:='{json.dumps(first.params)}'"
    say_lines(
        f"\n# The first one with HTTPie\n"
        f"http POST {url} Authorization:'Bearer {token}' jsonrpc=2.0 id:=1 method={first.method} {params}\n"
    )


def _command(call: Call) -> str:
    pairs = [
        f"{name}={quote(value)}" if isinstance(value, str) else f"{name}:={quote(json.dumps(value))}"
        for name, value in call.params.items()
    ]
    return " ".join(["cstp call", call.method, *pairs])


def _curl(call: Call, url: str, token: str) -> str:
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": call.method, "params": call.params})
    return f"curl -s {url} -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{request}'"
