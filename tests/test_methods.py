"""Each method is in every list that has one line for each method, but in those that other tests compare."""

from importlib import import_module
from pkgutil import iter_modules
from random import Random

import cstp.methods
from benchmarks.kind_calls import make_calls
from cstp.contract import Method
from cstp.methods.registry import METHODS
from cstp_server.cli.demo_calls import CALLS
from cstp_server.mcp.tools import TOOLS
from tests.chaos.greedy import MODEST
from tests.isolation.world import make_world
from tests.mcp.test_tools import OVER_STDIO, calls

READS = {method.name for method in METHODS if method.scope in (None, "read")}
READ_TOOLS = {name for name, tool in TOOLS.items() if not tool.method.writes}
NO_TOOLS = {"cstp.audit", "cstp.putRecords", "cstp.whoami", "rpc.discover"}  # for people and programs
OF_A_DECISION = {"cstp.getDecision", "cstp.getGraph"}  # the demo's have ids that depend on the folder


def test_every_method_that_a_module_defines_is_in_the_registry_once() -> None:
    modules = [import_module(f"cstp.methods.{each.name}") for each in iter_modules(cstp.methods.__path__)]
    defined = [value.name for each in modules for value in vars(each).values() if isinstance(value, Method)]
    assert sorted(method.name for method in METHODS) == sorted(defined)


def test_every_method_is_a_tool_but_those_for_people_and_programs() -> None:
    assert {method.name for method in METHODS if method.tool is None} == NO_TOOLS


def test_every_tool_that_reads_is_called_over_both_transports() -> None:
    assert set(calls(make_world(Random(3)))) == READ_TOOLS
    assert set(OVER_STDIO) == READ_TOOLS - {"get_decision", "get_graph", "get_episode"}


def test_every_read_is_asked_while_another_agent_asks_for_more_than_there_is() -> None:
    assert {asked.method for asked in MODEST if not asked.tool} == READS
    assert {asked.method for asked in MODEST if asked.tool} == READ_TOOLS


def test_the_demo_has_one_call_of_each_read() -> None:
    assert sorted(call.method for call in CALLS) == sorted(READS - OF_A_DECISION - {"rpc.discover"})


def test_every_read_of_records_is_measured() -> None:
    measured = {call.method for call in make_calls(10, ["a query"])}
    # the other lists of extractions are getPatterns with another type
    assert READS - measured == {"cstp.getDecisions", "cstp.getWarnings", "cstp.whoami", "rpc.discover"}
