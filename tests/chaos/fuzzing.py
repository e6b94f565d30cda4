"""The fuzzed server, and requests made of random bytes."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from hypothesis import HealthCheck, Phase, settings

from tests.chaos.process import Served
from tests.chaos.values import HOSTILE, NUMBERS, parameters
from tests.chaos.wire import CANARY, METHOD_NAMES, Answer, Pipes, check_answer, expected, request

Report = Callable[[str, str, int, str], None]
FAMILY = "7 fuzz"
LONGEST_LINE = 4096
MOST_GROWTH = 150_000_000
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
CHECKS = tuple(HealthCheck)
PARAMETERS = parameters()


class Target:
    """A fuzzed server, and the requests sent to it."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.pipes = Pipes(server.port, 4)
        self.codes: Counter[int] = Counter()
        self.requests = 0
        self.calls = 0
        self._memory = 0
        self._read = 0

    def send(self, bodies: Sequence[bytes], *headers: tuple[str, str]) -> list[Answer]:
        answers = self.pipes.exchange([request(body, self.server.token, headers=headers) for body in bodies])
        self.requests += len(bodies)
        return answers

    def check(self, bodies: Sequence[bytes]) -> tuple[list[Answer], list[list[int]]]:
        """Send each body separately and compare with `expected`; return the answers and the codes in each."""
        answers, found = self.send(bodies), []
        for answer, body in zip(answers, bodies, strict=True):
            codes = check_answer(answer, body, expected(body))
            found.append(codes)
            self.codes.update(codes)
            self.calls += len(codes) or 1
        return answers, found

    def settle(self) -> tuple[int, str]:
        """Assert that the server is alive, small and discreet; call at the end of each test.

        Returns the request count since the last call, and a summary of results.
        """
        assert self.server.alive(), "the server died"
        memory = self.server.rss()
        self._memory = self._memory or memory
        assert memory - self._memory < MOST_GROWTH, f"grew from {self._memory} to {memory} bytes"
        self._check_log()
        codes = ", ".join(f"{code or 'result'} {count:,}" for code, count in sorted(self.codes.items(), reverse=True))
        count, seen = self.requests, f"{self.calls:,} calls: {codes}; memory {memory / 2**20:.0f} MiB"
        self.requests = self.calls = 0
        self.codes.clear()
        return count, seen

    def _check_log(self) -> None:
        """Check the log lines since the last call: complete JSON, short, without canaries or the token."""
        secret = self.server.token.rpartition("_")[2].encode()
        with self.server.log_path.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                assert len(line) <= LONGEST_LINE, line[:200]
                assert CANARY.encode() not in line, line[:LONGEST_LINE]
                assert secret not in line, "the token is in the log"
                assert json.loads(line)["level"] in ("debug", "info", "warning"), line

    def close(self) -> None:
        self.pipes.close()


def examples(count: int, *, fresh: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return `count` examples: identical in each run, or `fresh`."""
    return settings(max_examples=count, derandomize=not fresh, suppress_health_check=CHECKS, phases=PHASES)


def encode(document: object, *, ascii_only: bool = True) -> bytes:
    return json.dumps(document, ensure_ascii=ascii_only, allow_nan=False).encode()


def call(method: str, params: object, identifier: object = 1) -> bytes:
    return encode({"jsonrpc": "2.0", "method": method, "params": params, "id": identifier}, ascii_only=False)


def seeds() -> list[bytes]:
    """Return bodies to mutate: methods with required params and an extra parameter, batches, deep and long values."""
    calls = [call(each.method, each.base, f"{CANARY}") for each in PARAMETERS]
    calls += [call(each.method, each.params(text), 1.5) for each in PARAMETERS for text in HOSTILE[:8]]
    calls += [call(method, {}, number) for method in sorted(METHOD_NAMES) for number in NUMBERS]
    deep = [call("cstp.whoami", {"a": json.loads("[" * depth + "]" * depth)}) for depth in (61, 62, 63)]
    odd = [b"[]", b"{}", b"null", b'"x"', b" [1,2,3] ", b'{"jsonrpc":"2.0","method":"cstp.whoami"}']
    batches = [b"[" + b",".join(calls[at : at + 5]) + b"]" for at in range(0, len(calls), 5)]
    return [*calls, *deep, *odd, *batches]


def mutated(body: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Return a body with small changes: swapped tokens; set, flipped, removed, added, repeated bytes; splices."""
    data = bytearray(body)
    for _ in range(random.choice((1, 1, 2, 4))):
        at, to = sorted(random.choices(range(len(data) + 1), k=2))
        to = min(to, at + random.choice((1, 2, 8, 64)))
        match random.randrange(12):
            case 0:
                data[at:to] = random.randbytes(to - at)
            case 1 if at < len(data):
                data[at] ^= 1 << random.randrange(8)
            case 2:
                del data[at:to]
            case 3:
                data[at:at] = random.choice(INSERTED)
            case 4:
                data[at:at] = data[at:to] * random.choice((1, 2, 30))
            case 5:
                other = random.choice(others)
                begin = random.randrange(len(other))
                data[at:to] = other[begin : begin + 40]
            case 6:
                del data[at:]
            case _:
                if tokens := list(TOKEN.finditer(data)):
                    token = random.choice(tokens)
                    data[token.start() : token.end()] = random.choice(TOKENS)
    return bytes(data)


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|\[\]|\{\}')
TOKENS = (
    *(encode(each) for each in (*HOSTILE, *NUMBERS, True, False, None, [], {}, [1], {"a": 1})), b"-0", b"0.10", b"1E5",
    b"1e400", b"01", b"NaN", b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0000"', b'"\\x"', b"9" * 20, b"9" * 309,
    b"9" * 308, b"9" * 5000, b"0." + b"1" * 400, b'"id"', b'"method"', b'"params"', b'"query"', b'"limit"', b'"mode"',
    b'"filters"',
    b'"cstp.whoami"', b'"cstp.queryDecisions"', b'1,"id":2', b'1,"jsonrpc":"2.0"', b",", b":", b"", b" \n\r\t",
)  # fmt: skip
INSERTED = (
    *(bytes([each]) for each in b'{}[]",:\\ \n\t0-e.'), b"\\u0000", b"\\ud800", b"\\ud83d\\ude00", b"\xff", b"\x00",
    b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xa8", b"1e400", b"-0", b"1E5", b"0.10", b"9" * 20,
    b"9" * 400, b"NaN", b"null", b"true", b"[" * 70, b'{"a":' * 66, b'"id":1,', b'"id":null,', b'"params":[],', b"/**/",
    CANARY.encode(),
)  # fmt: skip
