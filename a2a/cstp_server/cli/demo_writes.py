"""What `cstp demo` writes when it begins, over the wire: one decision, from its record to its end."""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cstp.client.sync_client import Client
from cstp_server.cli.demo_calls import Call

ID: Final = "<id>"  # stands for that of the decision, SEQ for the change that recorded it
SEQ: Final = "<seq>"
STEPS: Final[Sequence[Call]] = (
    Call(
        "An agent records a decision",
        "cstp.recordDecision",
        {
            "decision": "Bake rye bread on Mondays",
            "confidence": 0.7,
            "context": "The oven is free on Mondays, and rye keeps for a week.",
            "tags": ["bread"],
        },
    ),
    Call(
        "States how it turned out",
        "cstp.reviewDecision",
        {"id": ID, "outcome": "partial", "lessons": "Start the sour dough on Sunday."},
    ),
    Call("Asks for it", "cstp.queryDecisions", {"query": "when do we bake rye bread", "limit": 1}),
    Call("Follows what changed since it was recorded", "cstp.changes", {"since": SEQ, "kinds": ["decision"]}),
    Call("And has it forgotten, with all that came of it", "cstp.forget", {"id": ID, "confirm": True}),
)
# The member of each result that is shown, so that a line is enough.
SHOWN: Final = {
    "cstp.recordDecision": ("id", "status", "created"),
    "cstp.reviewDecision": ("status", "outcome", "selfReview"),
    "cstp.queryDecisions": ("decisions",),
    "cstp.changes": ("changes",),
    "cstp.forget": ("deleted", "receipt"),
}


def write_through(url: str, token: str, certificate: str | None) -> Iterator[tuple[Call, Mapping[str, Any]]]:
    """Yield each call and the shown part of its result. Raises CstpError or TransportError."""
    known: dict[str, object] = {}
    with Client(url, token, ssl_context=_trusting(certificate)) as client:
        for step in STEPS:
            params = {name: known.get(str(value), value) for name, value in step.params.items()}
            result = client.call(step.method, params)  # type: ignore[arg-type]  # the values are JSON
            assert isinstance(result, dict)
            if ID not in known:
                known |= {ID: result["id"], SEQ: result["seq"]}
            shown = {name: result[name] for name in SHOWN[step.method] if name in result}
            yield Call(step.about, step.method, params), shown


def _trusting(certificate: str | None) -> ssl.SSLContext | None:
    """A context that takes the server's own certificate, from any authority."""
    if certificate is None:
        return None
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context
