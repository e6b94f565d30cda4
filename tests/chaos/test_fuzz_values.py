"""Family 7: values for every parameter, and envelopes of every kind."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cstp.methods.registry import METHODS
from tests.chaos.fuzzing import FAMILY, PARAMETERS, Report, Target, call, encode, examples
from tests.chaos.values import NUMBERS, Json, Parameter, anything, beyond, fitting, names, schema_of, texts
from tests.chaos.wire import CANARY, INVALID_PARAMS, METHOD_NAMES, Answer, parse_answer, reply_code

TOGETHER = (5, 20)  # requests of an example, in the short and the long form
BATCHED = 20  # envelopes of a batch
# schemas do not state dependencies on other members, on a server with a model, or on the time
UNSTATED = (b"this server has no embedding model", b'"message":"needs ', b'"message":"must be in the future')


def test_every_parameter_of_every_method_is_known_to_the_fuzz() -> None:
    named = {(each.method, each.field) for each in PARAMETERS}
    assert ("cstp.queryDecisions", "query") in named
    assert ("cstp.queryDecisions", "filters.stakes[0]") in named
    assert {method for method, _ in named} <= METHOD_NAMES


@pytest.mark.parametrize(("model", "times"), [("none", (200, 100_000)), ("minilm", (200, 4000))])
def test_every_parameter_takes_exactly_its_schema_and_names_refused_values(
    fuzzed: Callable[[str], Target], chaos_scale: Any, chaos_report: Report, model: str, times: tuple[int, int]
) -> None:
    target, fresh, together = fuzzed(model), chaos_scale.long, chaos_scale.pick(*TOGETHER)
    # a written text is embedded in full: seconds for the longest
    writes = {method.name for method in METHODS if method.writes and model != "none"}
    for parameter in (each for each in PARAMETERS if each.method not in writes):
        # rounded up, so that each parameter is used
        count = -(-chaos_scale.pick(*times) // (3 * together * len(PARAMETERS)))
        # schemas do not state dependencies between object members, or the token's owner; an object in
        # a list is sent with a single member
        alone = any(isinstance(step, int) for step in parameter.path[:-1])
        stated = not parameter.has_members and not alone and parameter.path != ("agentId",)
        # nor the members of each record kind: `cstp schema KIND` does
        stated = stated and "'pattern'" not in str(parameter.schema) and parameter.path[0] != "records"
        accepted = stated and plainly_accepted(target, parameter)

        def fits(answer: Answer, code: int, parameter: Parameter = parameter, accepted: bool = accepted) -> None:
            refused = code == INVALID_PARAMS and not any(each in answer.body for each in UNSTATED)
            assert not (accepted and refused), f"{parameter}: refused, {answer.body[:500]!r}"

        def is_beyond(answer: Answer, code: int, parameter: Parameter = parameter) -> None:
            assert code == INVALID_PARAMS, f"{parameter}: taken"
            fields = [each["field"] for each in parse_answer(answer.body)["error"]["data"]["violations"]]
            assert any(each.startswith(parameter.field) for each in fields), f"{parameter}: named as {fields}"

        stated_as = parameter.schema, parameter.definitions
        checks = ((fitting(*stated_as), fits), (beyond(*stated_as), is_beyond), (anything, lambda answer, code: None))
        try_values(target, parameter, (count, together), checks, fresh=fresh)
    requests, seen = target.settle()
    what = f"values for each of {len(PARAMETERS)} parameters: allowed, just beyond, anything (model {model})"
    chaos_report(FAMILY, what, requests, f"taken or refused by name as the schemas say; {seen}")


def try_values(
    target: Target,
    parameter: Parameter,
    size: tuple[int, int],
    checks: Sequence[tuple[Json, Callable[[Answer, int], None]]],
    *,
    fresh: bool,
) -> None:
    """Send examples of values for a parameter; `size` has their count, and the requests of each check in one."""
    count, together = size

    @examples(count, fresh=fresh)
    @given(drawn=st.tuples(*(st.lists(values, min_size=together, max_size=together) for values, _ in checks)))
    def run(drawn: tuple[list[object], ...]) -> None:
        tried = [(value, holds) for values, (_, holds) in zip(drawn, checks, strict=True) for value in values]
        bodies = [call(parameter.method, parameter.params(value)) for value, _ in tried]
        for (_, holds), body, answer, codes in zip(tried, bodies, *target.check(bodies), strict=True):
            try:
                holds(answer, codes[0])
            except AssertionError as error:
                raise AssertionError(f"{error}\nsent: {body[:2000]!r}") from None

    run()


def plainly_accepted(target: Target, parameter: Parameter) -> bool:
    """Return whether the method runs with only required parameters: some methods need one of several."""
    (answer,) = target.send([call(parameter.method, parameter.base)])
    return reply_code(parse_answer(answer.body)) != INVALID_PARAMS


def often(usual: Json, *others: Json, share: float = 0.7) -> Json:
    """Draw from `usual` in this share of cases; `one_of` weighs all alike."""
    return st.sampled_from([True] * round(share * 10) + [False] * round(10 - share * 10)).flatmap(
        lambda usually: usual if usually else st.one_of(*others)
    )


def fitting_params(method: str) -> Json:
    """Draw parameters as the method's schema says, without long waits for changes."""
    schema = schema_of(method)
    if "waitMs" in schema["properties"]:
        schema["properties"]["waitMs"]["maximum"] = 100
    return fitting(schema, schema.get("$defs", {}))


IDENTIFIERS = often(
    st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=8), st.sampled_from([CANARY, f"Bearer {CANARY}"])),
    st.none(),
    st.integers(-(2**66), 2**66),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([*NUMBERS, "", "0", True, False, [], {}, [1], {CANARY: 1}]),
)
METHOD_CHOICES = often(
    st.sampled_from(sorted(METHOD_NAMES)),
    st.sampled_from(["", "cstp.", "cstp.__class__", "CSTP.WHOAMI", "rpc.anything", f"cstp.{CANARY}", "a" * 4000]),
    texts,
)
GIVEN_PARAMS = often(
    st.one_of([fitting_params(name) for name in sorted(METHOD_NAMES)]),
    st.dictionaries(
        st.one_of(names, st.sampled_from([str(each.path[0]) for each in PARAMETERS])), anything, max_size=4
    ),
    st.lists(anything, max_size=3),
)
WHOLE = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": METHOD_CHOICES}, optional={"id": IDENTIFIERS, "params": GIVEN_PARAMS}
)
FITTED = st.one_of(
    [
        st.fixed_dictionaries(
            {
                "jsonrpc": st.just("2.0"),
                "method": st.just(name),
                "params": fitting_params(name),
                "id": IDENTIFIERS,
            }
        )
        for name in sorted(METHOD_NAMES)
    ]
)
TORN = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": often(st.just("2.0"), st.sampled_from(["1.0", "2.1", "", "2.0 ", 2.0, 2, None])),
        "method": often(METHOD_CHOICES, anything),
        "params": often(GIVEN_PARAMS, anything),
        "id": IDENTIFIERS,
    },
)
STRANGE = st.builds(lambda torn, more: {**more, **torn}, TORN, st.dictionaries(names, anything, max_size=2))
ELEMENTS = often(st.one_of(WHOLE, FITTED), TORN, STRANGE, anything)


def test_every_envelope_gets_its_answer_also_in_a_batch(target: Target, chaos_scale: Any, chaos_report: Report) -> None:
    @examples(chaos_scale.pick(25, 2600), fresh=chaos_scale.long)
    @given(elements=st.lists(ELEMENTS, min_size=BATCHED, max_size=BATCHED), ascii_only=st.booleans())
    def try_elements(elements: list[object], ascii_only: bool) -> None:
        bodies = [encode(each, ascii_only=ascii_only) for each in elements]
        target.check([*bodies, b"[" + b",".join(bodies) + b"]"])

    try_elements()
    requests, seen = target.settle()
    what = f"envelopes, each alone and {BATCHED} together in a batch"
    chaos_report(FAMILY, what, requests, f"each reply, id, code and status as the protocol says; {seen}")
