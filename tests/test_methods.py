"""Each method is in every per-method list, except lists compared by other tests."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import cstp.methods
from benchmarks.kind_calls import make_calls
from cognition_engines.kinds.spec import Kind
from cstp.contract import Method
from cstp.methods.registry import METHODS
from cstp.validation import parse_params
from cstp.values.records import KIND_NAMES
from cstp_server.cli import demo_calls
from tests.calls import CALLS, READS, SAMPLE, fill

NO_TOOLS = {"cstp.audit", "cstp.putRecords", "cstp.whoami", "rpc.discover"}  # for people and programs
OF_A_DECISION = {"cstp.getDecision", "cstp.getGraph"}  # the demo's ids depend on the folder


def test_every_defined_method_is_in_the_registry_once() -> None:
    modules = [import_module(f"cstp.methods.{each.name}") for each in iter_modules(cstp.methods.__path__)]
    defined = [value.name for each in modules for value in vars(each).values() if isinstance(value, Method)]
    assert sorted(method.name for method in METHODS) == sorted(defined)


def test_the_protocol_names_the_kinds_of_the_engine() -> None:
    assert [kind.label for kind in Kind] == [*KIND_NAMES]


def test_every_method_is_a_tool_but_those_for_people_and_programs() -> None:
    assert {method.name for method in METHODS if method.tool is None} == NO_TOOLS


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.name))
def test_the_call_of_each_method_in_the_list_for_all_tests_is_valid(method: Method[Any, Any]) -> None:
    values = {**SAMPLE, "DECISION": "dec-one", "OTHER": "dec-other"}
    params = fill(CALLS[method.name], values)
    assert parse_params(method.params, params)
    assert not {value for value in params.values() if isinstance(value, str) and value.isupper()}


def test_the_demo_has_one_call_of_each_read() -> None:
    reads = {method.name for method in READS}
    assert sorted(call.method for call in demo_calls.CALLS) == sorted(reads - OF_A_DECISION - {"rpc.discover"})


def test_every_read_of_records_is_measured() -> None:
    measured = {call.method for call in make_calls(10, ["a query"])}
    # the other lists of extractions are getPatterns with another type
    reads = {method.name for method in READS}
    assert reads - measured == {"cstp.getDecisions", "cstp.getWarnings", "cstp.whoami", "rpc.discover"}
