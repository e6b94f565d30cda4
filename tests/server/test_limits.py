"""Spending limits of agents: in memory and on a real Redis, and during a Redis outage."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any

import pytest

from cognition_engines.errors import ConfigurationError
from cstp.methods.registry import METHODS
from cstp_server.limits.admission import AdmissionGate
from cstp_server.limits.prices import make_plan, parse_windows
from cstp_server.settings import LimitSettings, ServerSettings, Settings

CALL = {"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}
NOTE = {"jsonrpc": "2.0", "method": "cstp.whoami"}


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.long("starts Redis"))])
def backend(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Yield settings for each limit store; Redis is emptied before each test."""
    if request.param == "memory":
        yield {}
        return
    redis = request.getfixturevalue("shared_redis")
    redis.command("FLUSHALL")
    # a busy machine must not look like an outage here
    yield {"limits.redis_url": redis.url, "limits.redis_timeout_seconds": 5}


def structured(text: str) -> dict[str, dict[str, int]]:
    """Parse a structured-field list of strings with integer parameters by hand; anything else fails."""
    found = {}
    for item in text.split(", "):
        whole = re.fullmatch(r'"([ !#-\[\]-~]*)"((?:;[a-z*][a-z0-9_.*-]*=(?:0|[1-9]\d{0,14}))+)', item)
        assert whole, f"{item!r} is no structured field"
        assert whole[1] not in found
        found[whole[1]] = {name: int(value) for name, _, value in (p.partition("=") for p in whole[2][1:].split(";"))}
    return found


def left(reply: Any) -> dict[str, int]:
    return {policy: state["r"] for policy, state in structured(reply.header("ratelimit")).items()}


def spend(server: Any, token: str, times: int) -> list[int]:
    return [server.post(CALL, token).status for _ in range(times)]


def test_a_denial_by_the_shortest_window_burns_nothing(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "10/minute; 3/hour"})
    token = server.token()
    assert list(structured(server.post(CALL, token).header("ratelimit-policy"))) == ["minute", "hour"]

    server = live_server(backend | {"limits.default": "100/day; 2/hour"})
    token = server.token("frugal")
    assert spend(server, token, 6) == [200, 200, 429, 429, 429, 429]
    reply = server.post(CALL, token)
    assert reply.json["error"]["data"]["policy"] == "hour"
    assert reply.json["error"]["data"]["window"] == 3600
    assert left(reply) == {"hour": 0, "day": 98}


def test_a_denial_by_a_longer_window_burns_nothing(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "9/minute; 7/hour; 2/day"})
    token = server.token()
    assert spend(server, token, 12) == [200, 200, *[429] * 10]
    assert left(server.post(CALL, token)) == {"minute": 7, "hour": 5, "day": 0}


def test_the_longest_denial_is_told(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "2/minute; 2/hour; 9/day"})
    token = server.token()
    assert spend(server, token, 2) == [200, 200]
    told = server.post(CALL, token).json["error"]["data"]
    assert (told["policy"], told["limit"], told["window"]) == ("hour", 2, 3600)
    assert 3500 < told["retryAfter"] <= 3600


@pytest.mark.long("waits for windows of time")
def test_a_stated_wait_is_enough_for_all_windows(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "2/3 second; 3/4 second"})
    token = server.token()
    assert spend(server, token, 2) == [200, 200]
    sleep(3.1)  # the shorter window is empty now, the longer one for most of another second not
    assert spend(server, token, 1) == [200]
    denied = server.post(CALL, token)
    assert (denied.status, denied.json["error"]["data"]["policy"]) == (429, "4second")
    sleep(int(denied.header("retry-after")))
    assert server.post(CALL, token).status == 200


def test_concurrent_calls_fill_each_window_exactly(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "30/minute; 20/hour"})
    token = server.token()
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: server.post(CALL, token).status, range(60)))
    assert (statuses.count(200), statuses.count(429)) == (20, 40)
    assert left(server.post(CALL, token)) == {"minute": 10, "hour": 0}


def test_units_spent_elsewhere_burn_nothing_here(live_server: Any, shared_redis: Any) -> None:
    shared_redis.command("FLUSHALL")
    names = {"limits.redis_url": shared_redis.url, "limits.redis_timeout_seconds": 5}
    spending, asking = (live_server(names | {"limits.default": "9/minute; 2/hour"}) for _ in range(2))
    assert spend(spending, spending.token("agent"), 2) == [200, 200]
    token = asking.token("agent")
    assert spend(asking, token, 5) == [429] * 5
    assert left(asking.post(CALL, token)) == {"minute": 7, "hour": 0}


def test_wrong_tokens_are_counted_over_all_servers_of_a_redis(live_server: Any, shared_redis: Any) -> None:
    shared_redis.command("FLUSHALL")
    names = {"limits.redis_url": shared_redis.url, "limits.redis_timeout_seconds": 5, "limits.auth_failures": "3/hour"}
    first, second = (live_server(names) for _ in range(2))
    assert [first.post(CALL, "wrong").status for _ in range(2)] == [401, 401]
    replies = [second.post(CALL, "wrong") for _ in range(3)]
    assert [reply.status for reply in replies] == [401, 429, 429]
    assert 3500 < int(replies[-1].header("retry-after")) <= 3600
    agent = second.token("127.0.0.1")  # a name that is also in an address
    assert second.post(CALL, agent).status == 200
    assert [shared_redis.command("LLEN", key) for key in ("cstp:LIMITER/127.0.0.1/3/1/hour",)] == [":0"]


def test_redis_keeps_no_more_than_needed(live_server: Any, shared_redis: Any) -> None:
    shared_redis.command("FLUSHALL")
    names = {"limits.redis_url": shared_redis.url, "limits.redis_timeout_seconds": 5}
    server = live_server(names | {"limits.default": "2/3 second; 9/minute"})
    token = server.token()
    for pause in (0, 1.6, 1.6, 1.6):  # a unit leaves the shorter window, but its key survives
        sleep(pause)
        assert spend(server, token, 1) == [200]
    short, long = "cstp:LIMITER/agent-0/2/3/second", "cstp:LIMITER/agent-0/9/1/minute"
    assert [shared_redis.command("LLEN", key) for key in (short, long)] == [":2", ":4"]
    assert 0 < int(shared_redis.command("PTTL", short)[1:]) <= 3000
    assert 3000 < int(shared_redis.command("PTTL", long)[1:]) <= 60_000


@pytest.mark.long("waits for windows of time")
def test_a_window_reopens_at_the_stated_time(live_server: Any, backend: dict[str, Any], wait_until: Any) -> None:
    server = live_server(backend | {"limits.default": "2/second; 100/minute"})
    token = server.token()
    replies = [server.post(CALL, token) for _ in range(3)]
    denied = next(reply for reply in [*replies, *(server.post(CALL, token) for _ in range(5))] if reply.status == 429)
    assert denied.header("retry-after") == "1"
    wait_until(lambda: server.post(CALL, token).status == 200)


@pytest.mark.long("waits for windows of time")
def test_a_denied_dear_call_passes_after_its_wait(live_server: Any, backend: dict[str, Any]) -> None:
    names = backend | {"limits.default": "4/2 second", "limits.costs": {"cstp.queryDecisions": 4}}
    spending = live_server(names)
    # each server learns the other's spending from Redis alone
    asking = live_server(names) if backend else spending
    spender = spending.token("agent")
    token = asking.token("agent") if backend else spender
    assert spend(spending, spender, 1) == [200]
    sleep(1.2)  # so that the first unit comes back long before the others
    assert spend(spending, spender, 3) == [200] * 3
    denied = asking.call("cstp.queryDecisions", token, {"query": "x"})
    assert denied.status == 429
    assert denied.json["error"]["data"]["retryAfter"] == int(denied.header("retry-after"))
    told = int(denied.header("retry-after"))
    sleep(told - 1)
    assert asking.call("cstp.queryDecisions", token, {"query": "x"}).status == 429
    sleep(1)
    assert asking.call("cstp.queryDecisions", token, {"query": "x"}).status == 200


@pytest.mark.long("waits for windows of time")
def test_methods_cost_as_configured(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "20/minute", "limits.costs": {"cstp.whoami": 3}})
    token = server.token(scopes=("admin",))
    steps = [
        (CALL, 17),
        (CALL | {"params": {"wrong": 1}}, 14),
        (CALL | {"method": "cstp.unknown"}, 13),
        (CALL | {"method": "cstp.queryDecisions", "params": {"query": "x"}}, 11),  # forbidden, costs 2
        ({}, 10),
        (b"not json", 9),
        ([], 8),
        ([1, 2], 6),
        (NOTE, 3),
    ]
    for body, remaining in steps:
        assert left(server.post(body, token)) == {"minute": remaining}
    assert server.post(CALL, token).status == 200
    for body in (CALL, {}, b"not json", [], [0] * 101):
        assert (server.post(body, token).status, server.post(body, token).code) == (429, -32002)
    assert [one["error"]["code"] for one in server.post([1, {"id": "x"}], token).json] == [-32002, -32002]


def test_a_text_costs_a_unit_for_each_1024_characters_more(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "100/minute"})
    token = server.token()

    def cost(body: object) -> int:
        before = left(server.post(CALL, token))["minute"]
        return before - left(server.post(body, token))["minute"]

    def search(length: int, **others: Any) -> dict[str, Any]:
        return CALL | {"method": "cstp.queryDecisions", "params": {"query": "x" * length, **others}}

    assert [cost(search(length)) for length in (1, 1024, 1025, 2048, 2049, 8192)] == [2, 2, 3, 3, 4, 9]
    assert cost(search(8193)) == 10, "a text that is refused for its length costs as well"
    assert cost(search(1025, mode="x" * 3000)) == 5, "each text counts by itself"
    assert cost(search(1, limit=10**30, filters={"category": "x" * 2000})) == 3, "so does each text inside another"
    assert cost([search(1025), search(1)]) == 5
    assert cost(CALL | {"method": "cstp.unknown", "params": {"query": "x" * 2000}}) == 2


@pytest.mark.parametrize("character", ["库", "!", "ж"])
def test_a_text_costs_a_unit_more_for_each_window_filled_by_its_characters(live_server: Any, character: str) -> None:
    server = live_server({"limits.default": "600/minute"})
    token = server.token()

    def cost(text: str) -> int:
        before = left(server.post(CALL, token))["minute"]
        call = CALL | {"method": "cstp.queryDecisions", "params": {"query": text}}
        return before - left(server.post(call, token))["minute"]

    lengths = (256, 257, 512, 513, 769, 1024, 2048, 3072, 4096, 4097, 8192)
    assert [cost(character * length) for length in lengths] == [2, 3, 3, 4, 5, 5, 5, 5, 5, 6, 9]
    assert cost(f"{'plain words ' * 40}{character * 100}") == 2, "880 characters' worth"
    assert cost(f"{'plain words ' * 60}{character * 100}") == 3, "1,120 characters' worth"


def test_a_text_dearer_than_a_window_takes_all_of_it(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "50/minute; 5/second"})
    token = server.token()
    long = CALL | {"method": "cstp.queryDecisions", "params": {"query": "x" * 8192}}
    passed = server.post(long, token)
    assert passed.status == 200
    assert left(passed) == {"second": 0, "minute": 45}
    denied = server.post(long, token)
    assert (denied.status, denied.header("retry-after")) == (429, "1")


def test_elements_of_a_batch_are_charged_singly(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "50/minute", "server.batch_concurrency": 8})
    token = server.token()
    reply = server.post([CALL | {"id": n} for n in range(60)], token)
    assert reply.status == 200
    assert [one["id"] for one in reply.json] == list(range(60))
    codes = [one.get("error", {}).get("code", 0) for one in reply.json]
    assert (codes.count(0), codes.count(-32002)) == (50, 10)
    assert reply.header("retry-after") is None
    assert all(one["error"]["data"]["policy"] == "minute" for one in reply.json if "error" in one)


def test_each_agent_has_a_separate_bucket_shared_by_its_tokens(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "3/minute", "limits.agents": {"big": "5/minute; 4/second"}})
    one, other, big = server.token("a"), server.token("a"), server.token("big")
    assert spend(server, one, 2) + spend(server, other, 2) == [200, 200, 200, 429]
    assert server.post(CALL, server.token("b")).status == 200
    reply = server.post(CALL, big)
    assert structured(reply.header("ratelimit-policy")) == {"second": {"q": 4, "w": 1}, "minute": {"q": 5, "w": 60}}
    assert [limit["policy"] for limit in reply.json["result"]["limits"]] == ["second", "minute"]


def test_every_authenticated_answer_carries_well_formed_headers(live_server: Any, backend: dict[str, Any]) -> None:
    names = {"limits.default": "8/minute; 2000/2hour", "server.max_body_bytes": 200}
    server = live_server(backend | names)
    token = server.token(scopes=("admin",))
    full = live_server(backend | names, gate=AdmissionGate(0, 0))
    cases = [
        (200, server.post(CALL, token)),
        (204, server.post(NOTE, token)),
        (413, server.post(b" " * 201, token)),
        (415, server.post(CALL, token, headers={"Content-Type": "text/plain"})),
        (403, server.call("cstp.queryDecisions", token, {"query": "x"})),
        (200, server.post(b"not json", token)),
        (200, server.post([CALL], token)),
        (200, server.post(CALL | {"method": "cstp.unknown"}, token)),
        (503, full.post(CALL, full.token())),
    ]
    cases += [(status, server.post(CALL, token)) for status in (200, 429)]
    for status, reply in cases:
        assert reply.status == status
        policy, state = structured(reply.header("ratelimit-policy")), structured(reply.header("ratelimit"))
        assert policy == {"minute": {"q": 8, "w": 60}, "2hour": {"q": 2000, "w": 7200}}
        assert list(state) == list(policy)
        for name, window in policy.items():
            assert 0 <= state[name]["r"] <= window["q"]
            assert 0 <= state[name]["t"] <= window["w"]
    denied = cases[-1][1]
    assert int(denied.header("retry-after")) >= structured(denied.header("ratelimit"))["minute"]["t"]


def test_whoami_and_the_headers_agree(live_server: Any, backend: dict[str, Any]) -> None:
    server = live_server(backend | {"limits.default": "30/minute"})
    token = server.token()
    for spent in range(1, 6):
        reply = server.post(CALL, token)
        assert reply.json["result"]["limits"][0]["remaining"] == left(reply)["minute"] == 30 - spent


def test_contradicting_limits_are_refused_at_start() -> None:
    methods = {method.name: method for method in METHODS}
    wrong = {
        "limits.costs: a call of cstp.whoami costs 7, more than limits.default allows": {
            "default": "6/minute; 100/hour",
            "costs": {"cstp.whoami": 7},
        },
        "more than limits.agents.small allows": {"agents": {"small": "1/second"}},
        "limits.costs: cstp.nope is not a method": {"costs": {"cstp.nope": 1}},
        "limits.default: must read like": {"default": "often"},
        "limits.default: has the same window twice": {"default": "60/minute; 10/60 seconds"},
        "limits.default: a limit must be at least 1": {"default": "0/minute"},
        "limits.agents.x: must read like": {"agents": {"x": ""}},
    }
    for reason, values in wrong.items():
        with pytest.raises(ConfigurationError, match=re.escape(reason)):
            make_plan(Settings(limits=LimitSettings.model_validate(values)), methods)


def test_windows_are_read_shortest_first_and_named_for_the_headers() -> None:
    windows = parse_windows("100/day; 40 per second, 600/minute | 5/10 minute", "limits.default")
    assert [(w.policy, w.limit, w.seconds) for w in windows] == [
        ("second", 40, 1),
        ("minute", 600, 60),
        ("10minute", 5, 600),
        ("day", 100, 86400),
    ]


def test_limits_hold_without_redis(live_server: Any, redis_server: Any, request_bytes: Any, wait_until: Any) -> None:
    redis = redis_server()
    names = {"limits.redis_url": redis.url, "limits.default": "9/minute; 8/10 second"}
    one, other = live_server(names), live_server(names)
    token, others_token = one.token("agent"), other.token("agent")
    assert spend(one, token, 3) + spend(other, others_token, 1) == [200] * 4
    redis.freeze()
    # three of its own and one of the other make four; of eight units in the shorter window four are left
    assert spend(one, token, 1) == [200]
    assert spend(other, others_token, 5) == [200, 200, 200, 200, 429]
    redis.thaw()
    wait_until(lambda: int(redis.command("LLEN", "cstp:LIMITER/agent/9/1/minute")[1:]) >= 8)
    assert spend(one, token, 1) == [429]


def test_a_call_that_redis_answers_late_is_counted_once(live_server: Any, redis_server: Any, wait_until: Any) -> None:
    redis = redis_server()
    names = {"limits.redis_url": redis.url, "limits.default": "9/minute", "limits.costs": {"cstp.whoami": 2}}
    server, window = live_server(names), "cstp:LIMITER/agent/9/1/minute"
    token = server.token("agent")
    assert spend(server, token, 1) == [200]
    redis.freeze()
    assert spend(server, token, 3) == [200] * 3  # the first waits for Redis, which will read it
    redis.thaw()
    wait_until(lambda: int(redis.command("LLEN", window)[1:]) >= 8)
    assert redis.command("LLEN", window).strip() == ":8"


def commands(redis: Any) -> int:
    """Return Redis's command count, without commands run inside scripts."""
    stats = redis.command("INFO", "commandstats")
    counts = dict(re.findall(r"cmdstat_(\w+):calls=(\d+)", stats))
    asked = {name: int(count) for name, count in counts.items() if name in ("eval", "evalsha", "get", "set", "ping")}
    return sum(asked.values())


def test_a_call_asks_redis_once(live_server: Any, shared_redis: Any) -> None:
    shared_redis.command("FLUSHALL")
    names = {"limits.redis_url": shared_redis.url, "limits.redis_timeout_seconds": 5}
    server = live_server(names | {"limits.default": "600/minute; 600/second"})
    token = server.token()
    server.post(CALL, token)
    before, began = commands(shared_redis), monotonic()
    assert spend(server, token, 100) == [200] * 100
    refreshes = 2 * (monotonic() - began + 1)  # a unit of each window per second
    assert 100 <= commands(shared_redis) - before <= 100 + refreshes


@pytest.mark.parametrize("trouble", ["wrong password", "nobody there", "not Redis"])
def test_an_unusable_redis_means_the_same_limits_in_memory(
    live_server: Any, redis_server: Any, common_server: Any, log_output: Any, trouble: str
) -> None:
    log = log_output("info")
    if trouble == "wrong password":
        redis = redis_server("right-password")
        url = redis.url.replace("right-password", "wrong-password")
    else:
        port = common_server().port if trouble == "not Redis" else 1
        url = f"redis://:canary-password@127.0.0.1:{port}/0"
    server = live_server({"limits.redis_url": url, "limits.default": "5/minute"})
    token = server.token()
    assert spend(server, token, 7) == [200] * 5 + [429] * 2
    assert log.getvalue().count('"event":"limits_local"') == 1
    assert "password@" not in log.getvalue()
    assert "canary" not in log.getvalue()


def test_a_request_beyond_the_places_is_refused_at_once(live_server: Any, redis_server: Any, wait_until: Any) -> None:
    redis = redis_server()
    names = {"limits.redis_url": redis.url, "limits.redis_timeout_seconds": 3}
    server = live_server(names | {"server.max_in_flight": 1, "server.max_queue": 1})
    token = server.token()
    assert server.post(CALL, token).status == 200
    redis.freeze()
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(server.post, CALL, token) for _ in range(3)]
        wait_until(lambda: any(one.done() for one in running), 2)
        first = next(one for one in running if one.done()).result()
        assert first.status == 503
        redis.thaw()
        assert sorted(one.result().status for one in running) == [200, 200, 503]


@pytest.mark.parametrize(
    ("server", "slowed"),
    [
        ({}, False),
        ({"host": "0.0.0.0"}, True),
        ({"public_url": "https://decisions.example.org"}, True),
        ({"trusted_proxies": ("127.0.0.1/32",)}, True),
    ],
    ids=str,
)
def test_two_hundred_calls_in_a_row_are_slowed_only_if_others_can_call(server: dict[str, Any], slowed: bool) -> None:
    settings = Settings(server=ServerSettings(**server))
    plan = make_plan(settings, {method.name: method for method in METHODS})
    dearest = 5  # units of a search with a long text
    assert any(window.limit < 200 * dearest for window in plan.default) == slowed
    assert any(window.limit < 200 for window in plan.writes) == slowed
