"""Values for every parameter of every method, made from the params models' JSON Schemas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from cstp.methods.registry import METHODS
from tests.chaos.wire import CANARY, METHOD_NAMES

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]
Json = st.SearchStrategy[Any]

# texts known to break servers, search engines, logs and terminals
HOSTILE = (
    "", " ", "\t\n", "\0", "a\0b", "\x1b[31mred", "line\nline\r\n", "\u2028\u2029", "\ufeff", "\uffff", "\u202eabc",
    "😀", "e\u0301", "x" * 257, "x" * 9000, "null", "NaN", "-1", "10", "1e400", "true", "{}", "[]", "__proto__", "self",
    "constructor", "' OR 1=1 --", '"; DROP TABLE records; --', "../../etc/passwd", "%s%n%d", "{0}{self}", "${7*7}",
    "{{7*7}}", "${jndi:ldap://x}", "<script>", 'title:"a" AND (', "a~2^3 [a TO b] *:*", "AND OR NOT", "(((((", '"""',
    "2024-02-30", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-01-31T24:00:00Z", "2026-W05",
    CANARY, f"{CANARY} {CANARY}", f"Bearer {CANARY}", f"cstp_{CANARY}_{CANARY}", f"{CANARY}\n{CANARY}",
)  # fmt: skip
NUMBERS = (
    0, -0.0, 1, -1, 0.5, 1.0, 10.0, 10.5, 51, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1,
    2**64, 10**30, 1e308, -1e308, 5e-324, 1e-300,
)  # fmt: skip

texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
names = st.one_of(st.sampled_from(["id", "a.b", "a[0]", "self", CANARY, f"{CANARY} x", "x" * 65]), st.text(max_size=6))
anything: Json = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)


@dataclass(frozen=True)
class Parameter:
    """A parameter at any depth: path in the params, schema, and params with all required members."""

    method: str
    path: Path
    schema: Schema
    definitions: Mapping[str, Schema]
    base: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.method}: {'.'.join(map(str, self.path))}"

    @property
    def field(self) -> str:
        """Return the parameter's path as in violations."""
        path = ""
        for step in self.path:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
        return path

    @property
    def has_members(self) -> bool:
        return any("properties" in one for one in variants(self.schema, self.definitions))

    def params(self, value: object) -> dict[str, Any]:
        """Return the required params, with this parameter set to `value`."""
        placed: dict[str, Any] = _placed(dict(self.base), self.path, value)
        return placed


def _placed(tree: Any, path: Path, value: object) -> Any:
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return [_placed(None, tuple(rest), value)]
    members = dict(tree) if isinstance(tree, dict) else {}
    return members | {step: _placed(members.get(step), tuple(rest), value)}


def schema_of(method: str) -> Schema:
    params = next(each.params for each in METHODS if each.name == method)
    return params.model_json_schema(by_alias=True)


def parameters() -> list[Parameter]:
    """Return every parameter of every method, including list items and object members."""
    found = []
    for name in sorted(METHOD_NAMES):
        schema = schema_of(name)
        definitions = schema.get("$defs", {})
        base = smallest(schema, definitions)
        found += [Parameter(name, path, inner, definitions, base) for path, inner in _walk(schema, definitions, ())]
    return found


def _walk(schema: Schema, definitions: Mapping[str, Schema], path: Path) -> Iterator[tuple[Path, Schema]]:
    for variant in variants(schema, definitions):
        for name, inner in variant.get("properties", {}).items():
            yield (*path, name), inner
            yield from _walk(inner, definitions, (*path, name))
        if "items" in variant:
            yield (*path, 0), variant["items"]
            yield from _walk(variant["items"], definitions, (*path, 0))


def variants(schema: Schema, definitions: Mapping[str, Schema]) -> list[Schema]:
    """Return all variants of a schema without references and alternatives."""
    if "$ref" in schema:
        return variants(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema and "properties" not in schema:  # an object states mutually exclusive spellings this way
            return [variant for each in schema[word] for variant in variants(each, definitions)]
    return [schema]


def smallest(schema: Schema, definitions: Mapping[str, Schema]) -> Any:
    """Return a minimal value of the schema, with only required members."""
    one = variants(schema, definitions)[0]
    if "const" in one or "enum" in one:
        return one.get("const", one.get("enum", [None])[0])
    match one.get("type"):
        case "object":
            required = one.get("required", ())
            return {name: smallest(one["properties"][name], definitions) for name in required}
        case "array":
            return [smallest(one["items"], definitions)] * one.get("minItems", 0)
        case "string":
            return "2026-01-31" if "format" in one else "option".ljust(one.get("minLength", 0), "x")
        case "integer" | "number":
            return one.get("minimum", 0)
        case "boolean":
            return False
    return None


def fitting(schema: Schema, definitions: Mapping[str, Schema]) -> Json:
    """Draw values permitted by the schema."""
    return st.one_of([_fitting(one, definitions) for one in variants(schema, definitions)])


def _fitting(one: Schema, definitions: Mapping[str, Schema]) -> Json:
    if "const" in one or "enum" in one:
        return st.sampled_from(one.get("enum", [one.get("const")]))
    match one.get("type"):
        case "object":
            members = {name: fitting(inner, definitions) for name, inner in one.get("properties", {}).items()}
            required = set(one.get("required", ()))
            given = {name: each for name, each in members.items() if name in required}
            return st.fixed_dictionaries(given, optional={n: each for n, each in members.items() if n not in required})
        case "array":
            least = one.get("minItems", 0)
            most = min(one.get("maxItems", least + 4), least + 4)
            return st.lists(fitting(one.get("items", {}), definitions), min_size=least, max_size=most)
        case "string":
            return _fitting_text(one)
        case "integer":
            low, high = one.get("minimum"), one.get("maximum")
            whole = st.integers(low, high)
            return st.one_of(whole, whole.map(float)) if low is not None and high is not None else whole
        case "number":
            return st.floats(one.get("minimum"), one.get("maximum"), allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return anything


def _fitting_text(one: Schema) -> Json:
    """Draw a nonblank text: a rule not expressed in schemas."""
    if "format" in one:
        return st.sampled_from(["2026-01-31", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00.123+02:00"])
    least, most = one.get("minLength", 0), one.get("maxLength", 40)
    body = st.text(min_size=max(0, least - 1), max_size=min(most - 1, least + 40)).map(lambda text: "x" + text)
    return st.one_of(body, st.just("x" * most), st.just("x" * max(1, least)))


def beyond(schema: Schema, definitions: Mapping[str, Schema]) -> Json:
    """Draw values permitted by no schema variant: of a wrong type, or just outside a bound."""
    allowed = variants(schema, definitions)
    kinds = {one.get("type") for one in allowed} | {"number" for one in allowed if one.get("type") == "integer"}
    if None in kinds or any("const" in one or "enum" in one for one in allowed):
        kinds |= {"string"}
    if "default" in schema:
        kinds |= {"null"}  # absent
    wrong = {
        "null": st.none(),
        "boolean": st.booleans(),
        "number": st.sampled_from([0, 1, 0.5]),
        "string": st.sampled_from(["10", "true", "x", CANARY]),
        "array": st.sampled_from([[], [1], ["x"]]),
        "object": st.sampled_from([{}, {"x": 1}, {CANARY: CANARY}]),
    }
    choices = [strategy for kind, strategy in wrong.items() if kind not in kinds]
    if len([one for one in allowed if one.get("type") != "null"]) == 1:
        choices += [edge for one in allowed if (edge := _outside(one)) is not None]
    return st.one_of(choices)


def _outside(one: Schema) -> Json | None:
    """Draw right-typed values outside the bounds; None without bounds."""
    found: list[Any] = []
    match one.get("type"):
        case "integer" | "number":
            found += [one["minimum"] - 1, one["minimum"] - 10**20] if "minimum" in one else []
            found += [one["maximum"] + 1, one["maximum"] + 0.5, 1e300] if "maximum" in one else []
            found += [0.5] if one["type"] == "integer" else []
        case "string":
            found += [""] if one.get("minLength", 0) > 0 else []
            found += ["x" * (one["maxLength"] + 1)] if "maxLength" in one else []
            found += ["yesterday", "2026-02-30", CANARY] if "format" in one else []
            found += [CANARY, "HYBRID "] if "enum" in one or "const" in one else []
    return st.sampled_from(found) if found else None
