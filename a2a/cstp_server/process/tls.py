"""HTTPS in the server itself, without a proxy."""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
import uvloop
from starlette.types import ASGIApp

from cognition_engines.errors import ConfigurationError
from cstp_server.settings import ServerSettings


def tls_context(server: ServerSettings) -> ssl.SSLContext | None:
    """Return the context for `server.ssl_certfile` and `server.ssl_keyfile`, TLS 1.2 and newer; None without them.

    Raise ConfigurationError naming the setting when a file cannot be used.
    """
    if server.ssl_certfile is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    names = "server.ssl_certfile" if server.ssl_keyfile is None else "server.ssl_certfile and server.ssl_keyfile"
    try:
        # a key with a passphrase would be asked for on a terminal, for as long as it takes
        context.load_cert_chain(server.ssl_certfile, server.ssl_keyfile, password=_no_passphrase)
    except ssl.SSLError as error:
        raise ConfigurationError(
            f"{names}: must be a PEM certificate and its key without a passphrase ({error.reason or 'no PEM'})"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{names}: {error.strerror}; give files that this user can read") from error
    return context


def _no_passphrase() -> str:
    return ""


class ServerConfig(uvicorn.Config):
    """uvicorn's settings with an existing context and a deadline for the TLS handshake, in seconds."""

    def __init__(self, app: ASGIApp, tls: ssl.SSLContext | None, handshake: float, **settings: Any) -> None:
        super().__init__(app, **settings)
        if tls is not None:
            self.ssl_context_factory = lambda _config, _default: tls
        self.handshake_seconds = handshake

    def get_loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        return partial(_Loop, self.handshake_seconds) if self.is_ssl else super().get_loop_factory()


class _Loop(uvloop.Loop):
    """An event loop disconnecting clients without a TLS handshake after `handshake` seconds; uvloop's default is 60."""

    def __init__(self, handshake: float) -> None:
        super().__init__()
        self._handshake = handshake

    async def create_server(self, *arguments: Any, **options: Any) -> Any:
        return await super().create_server(*arguments, **options | {"ssl_handshake_timeout": self._handshake})
