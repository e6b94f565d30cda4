"""`cstp serve`."""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from socket import socket
from types import ModuleType
from typing import Annotated

import typer

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ConfigurationError
from cstp_server.cli.options import FolderOptions, command_family, naming_a_store_that_fails, places_of, store_line
from cstp_server.holder.taking import folder_of_a_server
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.observe.log import announce, configure_logging, write_rest
from cstp_server.process.listen import bind
from cstp_server.process.malloc import share_arenas
from cstp_server.process.model import LOCAL_MODELS, open_model
from cstp_server.process.stop import ended_by_signals
from cstp_server.settings import Settings
from cstp_server.tokens import read_tokens

app = command_family()
_Model = Callable[[], Embedder | None]
_Serve = Callable[..., None]

HostOption = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")]
PortOption = Annotated[
    int | None,
    typer.Option(metavar="PORT", help="Port; 0 takes any free port and prints it. Default: 8100."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Worker processes over one data folder. Default: 1."),
]
CertificateOption = Annotated[
    str | None,
    typer.Option("--ssl-certfile", metavar="FILE", help="PEM file with the certificate chain, to serve HTTPS."),
]
KeyOption = Annotated[
    str | None, typer.Option("--ssl-keyfile", metavar="FILE", help="PEM file with the key of the certificate.")
]


@app.command("serve")
def serve_command(
    folder: FolderOptions,
    host: HostOption = None,
    port: PortOption = None,
    workers: WorkersOption = None,
    ssl_certfile: CertificateOption = None,
    ssl_keyfile: KeyOption = None,
) -> None:
    """Answer calls until stopped. After SIGTERM or Ctrl-C, running calls finish and the exit code is 0."""
    tls = {"server.ssl_certfile": ssl_certfile, "server.ssl_keyfile": ssl_keyfile}
    given = {"server.host": host, "server.port": port, "server.workers": workers, **tls}
    loaded = folder.load_settings(given)
    settings = loaded.settings
    if settings.server.workers > 1:
        _serve_by_workers(folder.ctx, loaded)
        return
    configure_logging(settings.log)
    folder.ctx.call_on_close(write_rest)
    live = _live_tokens(settings)
    with (
        naming_a_store_that_fails(loaded),
        ended_by_signals(settings.server.grace_seconds) as watchdog,
        bind(settings) as listener,
    ):
        say = partial(_say_where, loaded, _url(settings, listener), live)
        lock = folder_of_a_server(settings, listener, say)  # before the model is loaded, which the other server has
        serve, model = _load(settings)
        serve(settings, listener, say, watchdog, model, lock=lock)


def _serve_by_workers(ctx: typer.Context, loaded: LoadedSettings) -> None:
    """Run the parent of the workers and, in each of their processes, the server."""
    settings = loaded.settings
    limiter: ModuleType = import_module("cstp_server.limits.limiter")
    limiter.require_redis(settings)
    crew: ModuleType = import_module("cstp_server.workers.crew")
    serving: ModuleType = import_module("cstp_server.serve")  # which all workers have from their start
    import_module("cstp_server.limits.redis_windows")  # this, too
    crew.log_without_threads(settings.log)
    live = _live_tokens(settings)
    with crew.shared_folder() as folder, bind(settings) as listener:
        announce_all = partial(_say_where, loaded, _url(settings, listener), live)
        worker = crew.start(settings, folder, listener, announce_all)
        if isinstance(worker, int):
            raise typer.Exit(worker)
        configure_logging(settings.log)
        ctx.call_on_close(write_rest)
        with (
            naming_a_store_that_fails(loaded),
            ended_by_signals(settings.server.grace_seconds) as watchdog,
        ):
            serving.serve_as_worker(worker, settings, listener, watchdog)


def _url(settings: Settings, listener: socket) -> str:
    address, actual = listener.getsockname()[:2]
    scheme = "http" if settings.server.ssl_certfile is None else "https"
    return f"{scheme}://{f'[{address}]' if ':' in address else address}:{actual}/cstp"


def _say_where(loaded: LoadedSettings, url: str, live: int) -> None:
    """Announce the server's addresses and the places of its records and settings; warn of no TLS or no token."""
    agent, places, base = loaded.settings.agent.id, places_of(loaded), url.removesuffix("/cstp")
    also = {"mcp": f"{base}/mcp", **({"page": f"{base}/ui/"} if loaded.settings.ui_enabled else {})}
    sentence = f"cstp serves {agent} on {url} ({live} live token{'' if live == 1 else 's'})"
    named = ", ".join(f"{name}: {address}" for name, address in also.items())
    announce(
        "serving", f"{sentence}; {named}", store_line(loaded), url=url, agent=agent, live_tokens=live, **also, **places
    )
    server = loaded.settings.server
    by_proxy = server.public_url is not None and server.public_url.startswith("https:")
    if not server.loopback and server.ssl_certfile is None and not by_proxy:
        warning = f"tokens and records pass unencrypted to {loaded.settings.server.host}"
        remedy = "give --ssl-certfile, or set server.public_url to the https address of a proxy"
        announce("no_tls", f"warning: {warning}; {remedy}", level="warning", reason=warning, remedy=remedy)
    if not live:
        remedy = "create a token: cstp token create --agent NAME"
        announce("no_live_tokens", f"there is no live token yet; {remedy}", remedy=remedy)


def _load(settings: Settings) -> tuple[_Serve, _Model]:
    """Load the server and the model; a local model takes the other core while other modules are imported."""
    share_arenas()  # before there is a thread to allocate
    model: _Model = partial(open_model, settings)
    if settings.embedding.model in LOCAL_MODELS:  # others may take minutes, which a signal must end
        loader = ThreadPoolExecutor(1, "model")
        model = loader.submit(model).result
        loader.shutdown(wait=False)
    gc.disable()  # as in main.py
    serve: _Serve = import_module("cstp_server.serve").serve
    gc.enable()
    return serve, model


def _live_tokens(settings: Settings) -> int:
    """Count the live tokens. Raise ConfigurationError if there are none on an address that others reach."""
    now = datetime.now(UTC)
    live = sum(token.live(now) for token in read_tokens(settings.tokens_path))
    if not live and not settings.server.loopback:
        raise ConfigurationError(
            f"server.host: {settings.server.host} can be reached from other machines and there is no live "
            "token; create one first: cstp token create --agent NAME"
        )
    return live
