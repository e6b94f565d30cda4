"""`cstp check` against a server. Loaded by name: a check of a data folder needs no client."""

from collections.abc import Callable

from cstp.errors import CstpError
from cstp.methods.decisions import GET_DECISION_CONTEXT
from cstp_server.checking.server_source import ServerSource
from cstp_server.checking.verdicts import DecisionSource
from cstp_server.cli.conventions import MISUSED
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.remote import print_error
from cstp_server.cli.remote_methods import server_methods


def check_on_server(
    url: str,
    place: ReadPlace,
    repository: str,
    project: str | None,
    check: Callable[[DecisionSource], int],
    *,
    as_json: bool,
) -> int:
    """Return the exit code of `check` for a server's decisions; 2 if the server answers with an error.

    Raise BadParameter without a token, and the errors of `check`.
    """
    try:
        with server_methods(url, place.token, place.timeout) as methods:
            return check(ServerSource(methods, repository, project))
    except CstpError as error:
        print_error(error, GET_DECISION_CONTEXT.name, {"files": [], "project": project}, as_json=as_json)
        return MISUSED
