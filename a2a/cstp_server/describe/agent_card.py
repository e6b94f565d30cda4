"""The A2A agent card, made from the settings and the method values.

The card declares only served protocols: CSTP over JSON-RPC, declared as an extension required from clients, and as the
binding of the only interface. A2A's own methods (messages, tasks, streams) are not served, so no A2A binding is named
and every capability is off.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import cstp
from cstp.contract import Method
from cstp.methods.registry import METHODS
from cstp_server.limits.prices import Plan
from cstp_server.settings import Settings

EXTENSION: Final = "urn:cognition-cstp:1"
A2A: Final = "1.0"
_WORD: Final = re.compile(r"[A-Z]?[a-z]+")
_SCHEME: Final = "bearer"


def agent_card(settings: Settings, plan: Plan, url: str) -> dict[str, object]:
    """Return the card of a server at `url`, without `/cstp`."""
    agent = settings.agent.id
    return {
        "name": agent,
        "description": f"Answers what {agent} decided, learned and remembers, over CSTP (JSON-RPC 2.0). "
        "Does not serve A2A messages, tasks or streams.",
        "supportedInterfaces": [{"url": f"{url}/cstp", "protocolBinding": EXTENSION, "protocolVersion": A2A}],
        "version": cstp.__version__,
        "capabilities": {
            "streaming": False,
            "pushNotifications": False,
            "extendedAgentCard": False,
            "extensions": [_extension(settings, plan, url)],
        },
        "securitySchemes": {
            _SCHEME: {
                "httpAuthSecurityScheme": {
                    "description": "A token from cstp token create.",
                    "scheme": "Bearer",
                    "bearerFormat": "cstp_<id>_<secret>",
                }
            }
        },
        "securityRequirements": [{"schemes": {_SCHEME: {"list": []}}}],
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [
            _skill(method) for method in METHODS if method.name.startswith("cstp.") and method.scope is not None
        ],
    }


def _skill(method: Method[Any, Any]) -> dict[str, object]:
    name = method.name.removeprefix("cstp.")
    words = [word.lower() for word in _WORD.findall(name)]
    return {"id": method.name, "name": " ".join(words).capitalize(), "description": method.summary, "tags": words}


def _extension(settings: Settings, plan: Plan, url: str) -> dict[str, object]:
    server = settings.server
    return {
        "uri": EXTENSION,
        "description": "The interface has only CSTP methods; the OpenRPC document describes them.",
        "required": True,
        "params": {
            "version": cstp.__version__,
            "endpoint": f"{url}/cstp",
            "openrpc": f"{url}/openrpc.json",
            "methods": [
                {
                    "name": method.name,
                    "summary": method.summary,
                    "scope": method.scope,
                    "cost": plan.costs[method.name],
                }
                for method in METHODS
            ],
            "limits": _limits(plan, server.max_batch, server.max_body_bytes, server.max_answer_bytes),
            "auth": {
                "scheme": "Bearer",
                "header": "Authorization",
                "scopes": sorted({scope for method in METHODS for scope in method.scopes}),
            },
        },
    }


def _limits(plan: Plan, batch: int, body: int, answer: int) -> Mapping[str, object]:
    windows: Sequence[object] = [
        {"policy": window.policy, "limit": window.limit, "window": window.seconds} for window in plan.default
    ]
    return {"perAgent": windows, "maxBatch": batch, "maxBodyBytes": body, "maxAnswerBytes": answer}
