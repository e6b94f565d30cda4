"""HTTP requests with valid, invalid, hostile and mixed request lines and headers."""

from collections.abc import Mapping, Sequence
from random import Random

from tests.chaos.fuzzing import call, mutated
from tests.chaos.wire import CANARY

VERBS = (*["POST"] * 60, "GET", "PUT", "OPTIONS", "CONNECT", "TRACE", "PRI", "post", "X" * 300, "P\0ST", "")
PATHS = (
    *["/cstp"] * 60, "/cstp/", "/CSTP", "//cstp", "/cstp?access_token=", "/", "*", "/healthz", "/readyz", "/metrics",
    "/%63stp", "/../cstp", "http://x/cstp", "/cstp#a", "/é", "/\0", "/" + "a" * 20_000, "",
)  # fmt: skip
VERSIONS = (*["HTTP/1.1"] * 50, "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.11", "http/1.1", "", "ICY/1.0")
HOSTS = (*["chaos"] * 10, "", "a" * 300, f"{CANARY}:80")
# `<token>` is a live token
TOKENS = (
    *["Bearer <token>"] * 24, "bearer <token>", "Bearer  <token>", "Bearer <token>x", "<token>", f"Bearer {CANARY}",
    f"Basic {CANARY}", f"Bearer cstp_{CANARY}_{CANARY}", "Bearer", "", "Bearer é\xff", f"Bearer {CANARY * 500}",
)  # fmt: skip
TYPES = (
    *["application/json"] * 16, "application/json; charset=utf-8", "application/json-rpc", "text/plain", "", ";;;",
    "application/json; charset=latin-1", "application/json, text/plain", f"a/{CANARY}",
)  # fmt: skip
# `<size>` is the length of the body
LENGTHS = (*["<size>"] * 60, "0", "1", "4999", "5007", "-1", "1e3", "+5", "9" * 30, "", "5, 5")
MORE = (
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x", "Content-Encoding: gzip",
    "Expect: 100-continue", "Connection: close", "Connection: Upgrade", "Upgrade: h2c", "Upgrade: websocket",
    f"Cookie: a={CANARY}", f"X-Forwarded-For: {CANARY}, 10.0.0.1", f"Authorization: Bearer {CANARY}",
    "Content-Type: text/html", "Content-Length: 3", f"X-{CANARY}: {CANARY}", "X: " + "a" * 17_000, ": no name",
    "No colon", " folded: line", "A\0: b", "A: b\0c", "A: b\rc", "A : b", "Ünï: code", "X-Request-ID: mine",
    "X-Request-ID: " + "r" * 129, "X-Request-ID: a\x01b", "\r\n".join(f"N{number}: v" for number in range(70)),
)  # fmt: skip


def hostile_request(token: str, random: Random) -> bytes:
    """Return the bytes of a request; its body may differ from the announced length."""
    body = random.choice((call("cstp.whoami", {}), call("cstp.queryDecisions", {"query": CANARY}), b"", b"x" * 5000))
    line = f"{random.choice(VERBS)} {random.choice(PATHS)} {random.choice(VERSIONS)}"
    fields = {"Host": HOSTS, "Authorization": TOKENS, "Content-Type": TYPES, "Content-Length": LENGTHS}
    text = "\r\n".join([line, *_header_lines(fields, random), "", ""])
    head = text.replace("<token>", token).replace("<size>", str(len(body))).encode("latin-1")
    if random.random() < 0.1:
        head = head.replace(b"\r\n", b"\n")
    if random.random() < 0.1:
        head = mutated(head, [head], random)
    return head + body


def _header_lines(fields: Mapping[str, Sequence[str]], random: Random) -> list[str]:
    lines = [f"{name}: {random.choice(values)}" for name, values in fields.items() if random.random() < 0.95]
    lines += random.choices(MORE, k=random.choice((0, 0, 0, 0, 1, 2)))
    random.shuffle(lines)
    return lines
