"""The log: a short JSON line per call, without secrets and without text from callers."""

import json
import logging
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import structlog

from cstp_server.observe.log import GAP, HELD

TOKEN_CANARY = "cstp_0badcafe0bad_" + "c0ffee" * 10
QUERY_CANARY = "canary-of-the-query"


def lines(log: StringIO) -> list[dict[str, Any]]:
    text = log.getvalue()
    assert all(len(line.encode()) < 4096 for line in text.splitlines())
    return [json.loads(line) for line in text.splitlines()]


def call_lines(log: StringIO) -> list[dict[str, Any]]:
    return [line for line in lines(log) if line["event"] == "call"]


def provoke(server: Any, token: str) -> None:
    """Provoke every kind of answer, with canaries in all places for caller text."""
    query = {"jsonrpc": "2.0", "method": "cstp.queryDecisions", "id": QUERY_CANARY}
    server.post(query | {"params": {"query": QUERY_CANARY, "filters": {"category": QUERY_CANARY}}}, token)
    server.post(query | {"params": {"query": QUERY_CANARY, QUERY_CANARY: 1}}, token)
    server.post(query | {"method": QUERY_CANARY}, token)
    server.post(query | {"jsonrpc": QUERY_CANARY}, token)
    server.post([query, query | {"method": QUERY_CANARY}, QUERY_CANARY], token)
    server.post(QUERY_CANARY.encode() * 100, token)
    server.post(query, token, headers={"Content-Type": QUERY_CANARY})
    server.post(query, TOKEN_CANARY)
    server.post(query, headers={"Authorization": f"Basic {TOKEN_CANARY}"})
    server.post(query, token, headers={"X-Request-ID": f"Bearer {TOKEN_CANARY}"})
    server.post(query, TOKEN_CANARY, headers={"X-Forwarded-For": QUERY_CANARY, "Cookie": TOKEN_CANARY})
    with server.connect() as connection:
        connection.send(
            f"POST /cstp?access_token={TOKEN_CANARY}&q={QUERY_CANARY} HTTP/1.1\r\n"
            "Host: a\r\nContent-Length: 0\r\n\r\n".encode()
        )
        connection.read()
    with server.connect() as connection:
        connection.send(f"{QUERY_CANARY} {TOKEN_CANARY}\r\n\r\n".encode())
        connection.read()


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_the_log_has_no_tokens_or_queries(live_server: Any, log_output: Any, level: str, wait_until: Any) -> None:
    log = log_output(level)
    server = live_server()
    token = server.token()
    provoke(server, token)
    server.call("cstp.whoami", token, headers={"X-Request-ID": "the-last"})
    wait_until(lambda: level not in ("debug", "info") or "the-last" in log.getvalue())
    structlog.get_logger("test").error("all that was logged before is written with this")
    text = log.getvalue()
    assert QUERY_CANARY not in text
    for secret in (TOKEN_CANARY, token, token.rpartition("_")[2], TOKEN_CANARY.rpartition("_")[2]):
        assert secret not in text
    written = lines(log)
    assert (level in ("debug", "info")) == any(line["event"] == "call" for line in written)


def test_each_call_is_one_line_with_caller_method_and_outcome(
    live_server: Any, log_output: Any, wait_until: Any
) -> None:
    log = log_output("info")
    server = live_server({"limits.default": "11/minute"})
    token = server.token("reader", scopes=("admin",))
    call = {"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}
    cases: list[tuple[object, list[tuple[str | None, int]]]] = [
        (call, [("cstp.whoami", 0)]),
        (call | {"params": [1]}, [("cstp.whoami", -32602)]),
        (call | {"method": "x"}, [(None, -32601)]),
        ({}, [(None, -32600)]),
        (b"x", [(None, -32700)]),
        (call | {"method": "cstp.queryDecisions"}, [("cstp.queryDecisions", -32009)]),
        ({"jsonrpc": "2.0", "method": "cstp.whoami"}, [("cstp.whoami", 0)]),
        ([call, 1, call], [("cstp.whoami", 0), (None, -32600), ("cstp.whoami", 0)]),
        (call, [("cstp.whoami", -32002)]),
        ({}, [(None, -32002)]),
    ]
    for number, (body, expected) in enumerate(cases):
        log.seek(0)
        log.truncate()
        reply = server.post(body, token, headers={"X-Request-ID": f"request-{number}"})
        # lines come right after the answer
        wait_until(lambda: len(call_lines(log)) >= len(expected))  # noqa: B023 - runs at once
        calls = call_lines(log)
        # elements of a batch run at the same time and may end in any order
        assert Counter((line["method"], line["code"]) for line in calls) == Counter(expected)
        for line in calls:
            assert line["agent"] == "reader"
            assert line["request_id"] == reply.header("x-request-id") == f"request-{number}"
            assert 0 <= line["ms"] < 10_000
            assert line["level"] == "info"
            assert line["timestamp"].endswith("Z")


def test_a_busy_server_writes_the_lines_of_some_time_at_once(
    live_server: Any, log_output: Any, wait_until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_output("info")
    server = live_server({"limits.default": "100000/second"})
    token, pieces = server.token("reader"), []
    monkeypatch.setattr(log, "write", lambda text: pieces.append((monotonic(), text)))
    refused = {"headers": {"Content-Type": "text/plain"}}
    for number in range(100):
        server.post({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}, token, **({} if number % 2 else refused))
    wait_until(lambda: sum(text.count("\n") for _, text in pieces) == 100)
    events = Counter(json.loads(line)["event"] for _, text in pieces for line in text.splitlines())
    assert events == {"call": 50, "refused": 50}
    assert len(pieces) <= 2 + (pieces[-1][0] - pieces[0][0]) / GAP


SETUP = """
import asyncio, sys, threading, structlog
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.settings import LogSettings

configure_logging(LogSettings(format="json", level="error"))
log = structlog.get_logger("test").error
"""


@contextmanager
def start(program: str, **files: Any) -> "Iterator[subprocess.Popen[str]]":
    files = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | files
    process = subprocess.Popen([sys.executable, "-c", SETUP + program], text=True, **files)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def events(text: str) -> list[str]:
    return [json.loads(line)["event"] for line in text.splitlines()]


@pytest.mark.parametrize("called", ["asyncio.run(several())", "threading.Thread(target=lambda: several()).start()"])
def test_unwritten_lines_are_written_at_the_exit(called: str) -> None:
    several = """
    for number in range(3):
        log(f"line {number}")
"""
    kind = "async def" if "asyncio" in called else "def"
    with start(f"{kind} several() -> None:{several}\n{called}") as process:
        _, written = process.communicate(timeout=60)
    assert events(written) == ["line 0", "line 1", "line 2"]


LOG_IN_THREADS = f"""
def several(number: int) -> None:
    for _ in range({HELD}):
        log("line")

threads = [threading.Thread(target=several, args=[number]) for number in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("logged", flush=True)
"""


@pytest.mark.long("writes more than a pipe holds")
def test_threads_keep_logging_without_a_reader_and_every_line_is_written_or_counted() -> None:
    with start(LOG_IN_THREADS + "sys.stdin.readline(); write_rest(60)", stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "logged\n"
        _, written = process.communicate("end\n", timeout=60)
    lines = [json.loads(line) for line in written.splitlines()]
    assert lines[-1]["event"] == "log_lines_lost"
    assert len(lines) > HELD
    # the first of them may come before the pipe is full
    lost = [line["count"] for line in lines if line["event"] == "log_lines_lost"]
    assert len(lines) - len(lost) + sum(lost) == 3 * HELD


@pytest.mark.long("writes more than a pipe holds")
def test_a_reader_always_behind_periodically_gets_the_number_of_missing_lines() -> None:
    program = f"""
from cstp_server.observe import log as log_output
log_output._TELL_EVERY = 0

for _ in range(3):
    for _ in range({2 * HELD}):
        log("line")
    print("logged", flush=True)
    sys.stdin.readline()
write_rest(60)
"""
    with start(program, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        lines = []
        for _ in range(3):
            assert process.stdout.readline() == "logged\n"
            # more than a pipe holds, so that some were written since the last omission, and many are left
            lines += [process.stderr.readline() for _ in range(3000)]
            process.stdin.write("on\n")
            process.stdin.flush()
        lines += process.stderr.readlines()
    written = [json.loads(line) for line in lines]
    lost = [line["count"] for line in written if line["event"] == "log_lines_lost"]
    assert len(lost) >= 3, "each time, not only in the end"
    assert len(written) - len(lost) + sum(lost) == 6 * HELD


def test_after_a_full_disk_the_log_resumes_on_a_new_line(tmp_path: Path) -> None:
    program = """
import resource

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for _ in range(100):
    log("lost")
write_rest(60)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log("kept")
"""
    with (tmp_path / "log").open("w") as file, start(program, stderr=file) as process:
        process.communicate(timeout=60)
    *before, torn, last = (tmp_path / "log").read_text().splitlines()
    assert {event for line in before for event in events(line)} == {"lost"}
    assert events(last) == ["kept"]
    assert len("\n".join([*before, torn])) == 1000


@pytest.mark.long("writes more than a pipe holds")
def test_a_blocked_terminal_holds_nothing_up() -> None:
    reader, terminal = os.openpty()  # read by nobody
    try:
        with start(LOG_IN_THREADS, stderr=terminal) as process:
            said, _ = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "logged\n")
    finally:
        os.close(terminal)
        os.close(reader)


@pytest.mark.long("writes more than a pipe holds")
def test_an_end_does_not_wait_for_a_slow_reader() -> None:
    with start(LOG_IN_THREADS + "write_rest(); import os; os._exit(0)") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "logged\n"
        read = 0
        while process.poll() is None:
            select.select([], [], [], 0.1)
            if select.select([process.stderr], [], [], 0)[0]:
                read += len(os.read(process.stderr.fileno(), 4096))
        assert 0 < read < HELD * len('{"event":"line","level":"error","timestamp":"2026-01-01T00:00:00.000000Z"}')
        assert process.returncode == 0


def test_a_line_with_unencodable_text_is_still_written() -> None:
    with start("""
structlog.configure(processors=[lambda *line: line[2]["event"]])
structlog.get_logger("test").error("half of a pair: \\ud800")
""") as process:
        _, written = process.communicate(timeout=60)
    assert written == "half of a pair: \\ud800\n"


def test_a_request_id_cannot_start_a_new_line(live_server: Any, log_output: Any, wait_until: Any) -> None:
    log = log_output("info")
    server = live_server()
    server.call("cstp.whoami", server.token(), headers={"X-Request-ID": '"} {"event": "forged"} \\n'})
    wait_until(log.getvalue)
    assert {line["event"] for line in lines(log)} == {"call"}


def fail(depth: int, text: str) -> None:
    if depth:
        fail(depth - 1, text)
    raise ValueError(text)


def test_an_exception_is_logged_by_its_type_and_place_never_by_its_words(log_output: Any) -> None:
    log = log_output("debug")
    secret = f"{TOKEN_CANARY} and {QUERY_CANARY}" * 100
    try:
        try:
            fail(200, secret)
        except ValueError as error:
            raise KeyError(secret) from error
    except KeyError as error:
        structlog.get_logger("test").error("bug", exc_info=error, query=QUERY_CANARY, nested={"Token": TOKEN_CANARY})
        logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=error)
    written = lines(log)
    assert [line["error"] for line in written] == ["KeyError", "KeyError"]
    assert written[0]["cause"] == "ValueError"
    assert "test_log.py" in written[0]["trace"][0]
    assert QUERY_CANARY not in log.getvalue()
    assert "c0ffee" not in log.getvalue()


def test_an_unloggable_value_is_still_a_line(log_output: Any) -> None:
    class Awkward:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    log = log_output("debug")
    logger = structlog.get_logger("test")
    logger.info("surrogate", text="\ud800")
    logger.info("huge", number=10**100)
    logger.info("awkward", value=Awkward())
    logger.info("long", text="a" * 100_000, many=["b" * 1000] * 1000, wide={str(n): "c" * 1000 for n in range(1000)})
    logger.info("deep", value=[[[[[["d" * 1000] * 20] * 20] * 20] * 20]])
    assert len(lines(log)) == 5


def test_secrets_are_cut_out_of_library_logs(log_output: Any) -> None:
    log = log_output("debug")
    logging.getLogger("somewhere").warning(
        "GET %s with %s", "redis://user:hunter2@host/0", {"Authorization": f"Bearer {TOKEN_CANARY}"}
    )
    assert "hunter2" not in log.getvalue()
    assert "c0ffee" not in log.getvalue()
    assert len(lines(log)) == 1


def test_an_unwritable_log_takes_no_call_down(live_server: Any, log_output: Any) -> None:
    buffer = log_output("info")
    server = live_server()
    token = server.token()
    buffer.close()
    assert server.call("cstp.whoami", token).status == 200


def test_names_of_settings_stay_in_the_log_and_tokens_do_not(log_output: Any) -> None:
    log = log_output("info")
    structlog.get_logger("test").info("set", names="CSTP_DATA_DIR, CSTP_SERVER__PORT", other=f"x {TOKEN_CANARY} y")
    (line,) = lines(log)
    assert (line["names"], line["other"]) == ("CSTP_DATA_DIR, CSTP_SERVER__PORT", "x [redacted] y")


def test_a_traceback_given_as_text_is_logged_by_its_last_line(log_output: Any) -> None:
    log = log_output("info")
    text = "Traceback (most recent call last):\n" + '  File "a.py", line 1, in a\n' * 40 + "ValueError: the cause\n"
    logging.getLogger("uvicorn.error").error(text)
    assert [line["event"] for line in lines(log)] == ["ValueError: the cause"]
