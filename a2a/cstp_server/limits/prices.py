"""The cost of calls: each agent's windows, each method's price, and the weight of a call's texts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import ascii_letters, digits, whitespace
from typing import Any, Final

from limits import RateLimitItem, parse_many

from cognition_engines.embedding.base import QUERY_WINDOWS
from cognition_engines.errors import ConfigurationError
from cstp.contract import Method
from cstp_server.settings import Settings

_WRITES: Final = "\x1fwrites "
_ATTEMPTS: Final = "\x1fwrong tokens "
TEXT_UNIT: Final = 1024  # characters of a text parameter; each further ones cost a unit
VALUE_BYTES: Final = 64  # validating a value takes at least as long as parsing this many bytes
MOST_PATHS: Final = 256  # of a call; a call with more is refused
COMPARISONS: Final = 50_000  # of a stored pattern with a path; each further ones cost a unit
_DENSE: Final = 4  # a model token is about four plain characters, or a single other character
_PLAIN: Final = (ascii_letters + digits + whitespace).encode()


@dataclass(frozen=True, slots=True)
class Window:
    """A limit: `limit` units in `seconds`, named for the headers; `header` is the limit's part of RateLimit-Policy."""

    policy: str
    limit: int
    seconds: int
    item: RateLimitItem
    header: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The windows of every agent, shortest first, and the cost of each method.

    `writes` are additional windows, for the methods `writing`; their calls count under the agent's key `writes_of`.
    """

    default: tuple[Window, ...]
    agents: Mapping[str, tuple[Window, ...]]
    costs: Mapping[str, int]
    writes: tuple[Window, ...]
    writing: frozenset[str]

    def windows(self, agent: str) -> tuple[Window, ...]:
        return self.writes if agent.startswith(_WRITES) else self.agents.get(agent, self.default)


def writes_of(agent: str) -> str:
    """Return the key that counts an agent's writes; no agent can have this name."""
    return f"{_WRITES}{agent}"


def attempts_of(network: str) -> str:
    """Return the key that counts a network's wrong tokens; no agent can have this name."""
    return f"{_ATTEMPTS}{network}"


def parse_windows(text: str, setting: str, prefix: str = "") -> tuple[Window, ...]:
    """Parse `600/minute; 60/second` to windows, shortest first, with names that begin with `prefix`.

    Raise ConfigurationError naming `setting`.
    """
    try:
        items = sorted(parse_many(text), key=lambda item: item.get_expiry())
    except ValueError as error:
        raise ConfigurationError(f'{setting}: must read like "600/minute" or "600/minute; 60/second"') from error
    windows = tuple(_window(item, prefix) for item in items)
    if any(window.limit < 1 for window in windows):
        raise ConfigurationError(f"{setting}: a limit must be at least 1")
    if len({window.seconds for window in windows}) < len(windows):
        raise ConfigurationError(f"{setting}: has the same window twice")
    return windows


def _window(item: RateLimitItem, prefix: str) -> Window:
    name, seconds = f"{prefix}{item.GRANULARITY.name}", item.get_expiry()
    policy = name if item.multiples == 1 else f"{item.multiples}{name}"
    return Window(policy, item.amount, seconds, item, header=f'"{policy}";q={item.amount};w={seconds}')


def make_plan(settings: Settings, methods: Mapping[str, Method[Any, Any]]) -> Plan:
    """Check the limits against each other. Raise ConfigurationError naming impossible limits."""
    limits = settings.limits
    if unknown := [name for name in limits.costs if name not in methods]:
        raise ConfigurationError(f"limits.costs: {unknown[0]} is not a method of this server")
    costs = {name: limits.costs.get(name, method.cost) for name, method in methods.items()}
    plan = Plan(
        default=parse_windows(settings.default_limit, "limits.default"),
        agents={name: parse_windows(text, f"limits.agents.{name}") for name, text in limits.agents.items()},
        costs=costs,
        writes=parse_windows(settings.writes_limit, "limits.writes", "writes-"),
        writing=frozenset(name for name, method in methods.items() if method.writes),
    )
    places = {"limits.default": plan.default} | {f"limits.agents.{name}": w for name, w in plan.agents.items()}
    for place, windows in places.items():
        smallest = min(window.limit for window in windows)
        for name, cost in costs.items():
            # the default cost of a write is at most the limit of a window
            if cost > smallest and (name in limits.costs or name not in plan.writing):
                raise ConfigurationError(
                    f"limits.costs: a call of {name} costs {cost}, more than {place} allows ({smallest}); "
                    f"raise the limit or lower limits.costs"
                )
    return plan


@dataclass(frozen=True, slots=True)
class Weight:
    """The cost of texts in units, and the size of a body that takes as long to parse as the texts take to validate."""

    units: int
    size: int


def weigh(sent: object) -> Weight:
    """Return the weight of parameters as sent. A JSON text counts as the values it contains."""
    units = size = 0
    left = [sent]
    while left:
        value = left.pop()
        size += VALUE_BYTES
        if isinstance(value, str):
            if _DENSE * len(value) > TEXT_UNIT:  # a shorter text costs no unit
                units += _units_of(value)
            size += len(value) + VALUE_BYTES * value.count(",")
        elif isinstance(value, Mapping):
            size += sum(map(len, value))
            left += value.values()
        elif isinstance(value, list):
            left += value
    return Weight(units, size)


def weigh_paths(sent: object, parameter: str, count_patterns: Callable[[], int]) -> int:
    """Return a unit for each further comparisons of the paths of a parameter with the stored patterns.

    `parameter` is a name, or several with a dot between them. A list may be sent as JSON text; then commas count.
    """
    value = sent
    for name in parameter.split("."):
        if isinstance(value, str):
            value = value if name in value else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    count = len(value) if isinstance(value, list) else value.count(",") + 1 if isinstance(value, str) else 0
    return min(count, MOST_PATHS) * count_patterns() // COMPARISONS if count else 0


def _units_of(text: str) -> int:
    """Return a unit for each further TEXT_UNIT characters, whole or begun, after the first TEXT_UNIT.

    A text whose characters fill more windows of the model costs a unit for each window after the first, at most those
    of a query.
    """
    units = max(0, len(text) - 1) // TEXT_UNIT
    if units >= QUERY_WINDOWS - 1:
        return units
    encoded = text.encode("utf-8", "surrogatepass")
    plain = len(encoded) - len(encoded.translate(None, _PLAIN))
    filled = plain + _DENSE * (len(text) - plain)
    return max(units, min(QUERY_WINDOWS - 1, (filled - 1) // TEXT_UNIT))
