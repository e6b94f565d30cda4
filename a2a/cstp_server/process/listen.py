"""A server's listening socket."""

import errno
import socket
from typing import Final

from cognition_engines.errors import ConfigurationError
from cstp_server.settings import Settings

_HOSTS: Final = "use 127.0.0.1 for this machine only, or 0.0.0.0 for all its addresses"


def bind(settings: Settings) -> socket.socket:
    """Return a socket listening on the configured address. Raise ConfigurationError with a remedy."""
    host, port = settings.server.host, settings.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # each connection inherits it: the kernel also drops a closed connection's bytes; later than we do,
        # for it does so without a word to the client
        milliseconds = round(settings.server.send_seconds * 2000)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    try:
        listener.bind((host, port))
    except (OSError, TypeError) as error:  # the second for an impossible name
        listener.close()
        raise ConfigurationError(_not_bound(host, port, error)) from error
    listener.listen(2048)
    listener.set_inheritable(True)
    return listener


def _not_bound(host: str, port: int, error: OSError | TypeError) -> str:
    """Return the wrong setting, and a remedy."""
    if isinstance(error, socket.gaierror | TypeError):
        return f"server.host: {host} is not an address, nor a name that can be resolved; {_HOSTS}"
    match error.errno:
        case errno.EADDRNOTAVAIL:
            return f"server.host: this machine does not have the address {host}; {_HOSTS}"
        case errno.EACCES:
            return f"server.port: this user may not listen on {port}; choose a --port from 1024 up"
        case errno.EADDRINUSE:
            remedy = "stop the process that uses it, or choose another --port"
            return f"cannot listen on {host}:{port} ({error.strerror}); {remedy}"
    return f"server.host, server.port: cannot listen on {host}:{port} ({error.strerror}); choose others"
