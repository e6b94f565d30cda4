"""The first call of `cstp demo` with the answer, for README.md: `python -m tests.cli.answers` writes them."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any, Final

import httpx

from cstp_server.generate.method_pages import fit_json

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- first call: written by make docs -->"
END: Final = "<!-- end of first call -->"
TOLERANCE: Final = 0.02  # of scores and distances: the model's last digits differ between processors
LONGEST: Final = 100  # characters of a text
MOST: Final = 2  # items of a list
_TIMES: Final = {
    *("queryTimeMs", "expiresAt", "recordedAt", "remaining", "cursor", "etag", "tokens"),
    *("last24h", "last7d", "last30d"),  # count decisions by their age, which grows from day to day
}
_MADE: Final = re.compile(r"([a-z]{3}_)[0-9a-f]{16}")
_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Demo:
    """A running demo: printed lines, by program."""

    process: "subprocess.Popen[str]"
    curls: Sequence[str]
    http: str
    mcp: str
    call: str
    written: Sequence[str]

    @property
    def mcp_url(self) -> str:
        return shlex.split(self.mcp)[-3]

    @property
    def token(self) -> str:
        return shlex.split(self.mcp)[-1].removeprefix("Authorization: Bearer ")

    def end(self) -> int:
        """End the demo as Ctrl-C does; return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(120)


@contextmanager
def demo(folder: Path, **environment: str) -> Iterator[Demo]:
    """Start `cstp demo` on a free port in `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
    command = [sys.executable, "-c", "from cstp_server.cli.entry import main; main()", "demo", "--all", "--port", "0"]
    with (
        (folder / "demo.log").open("w") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, env={**kept, **environment}
        ) as process,
    ):
        assert process.stdout is not None
        curls, others, written = [], {}, []
        try:
            for line in process.stdout:
                if not curls and line.startswith(("cstp call ", "# -> ")):
                    written.append(line.strip())
                if line.startswith("curl "):
                    curls.append(line.strip())
                if line.startswith(("claude ", "cstp call ")):
                    others[line.partition(" ")[0]] = line.strip()
                if line.startswith("http "):
                    yield Demo(process, curls, line.strip(), others["claude"], others["cstp"], written)
                    break
            else:
                raise AssertionError((folder / "demo.log").read_text())
        finally:
            process.kill()


def replies(running: Demo) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield each call printed by the demo, with the answer."""
    for line in running.curls:
        words = shlex.split(line)
        url, request = words[2], words[words.index("-d") + 1]
        headers = dict(words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H")
        answer = httpx.post(url, headers=headers, content=request, timeout=60, trust_env=False, verify=False)
        yield json.loads(request), answer.json()


def section(running: Demo) -> str:
    """Return the first call and result."""
    request, reply = next(replies(running))
    return f"```sh\n{_command(request)}\n```\n\n```json\n{fit_json(_shortened(reply['result']))}\n```"


def shown() -> str:
    """Return the section of README.md."""
    return README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def differences(one: str, other: str) -> list[str]:
    """Return differences between two sections beyond times, generated ids and last digits."""
    found = []
    blocks, others = _FENCE.findall(one), _FENCE.findall(other)
    if _FENCE.sub("", one) != _FENCE.sub("", other) or len(blocks) != len(others):
        found.append("the texts around the calls")
    for (language, block), (_, against) in zip(blocks, others, strict=False):
        if language == "json":
            found += _differ(json.loads(block), json.loads(against), "")
        elif block != against:
            found.append(block)
    return found


def _differ(one: Any, other: Any, place: str) -> Iterator[str]:
    match one, other:
        case dict(), dict() if list(one) == list(other):
            for name in one.keys() - _TIMES:
                yield from _differ(one[name], other[name], f"{place}.{name}")
        case list(), list() if len(one) == len(other):
            for number, (left, right) in enumerate(zip(one, other, strict=True)):
                yield from _differ(left, right, f"{place}[{number}]")
        case float(), float() if isclose(one, other, abs_tol=TOLERANCE):
            return
        case str(), str() if place.endswith(".path") and Path(one).name == Path(other).name:
            return  # with its folder only in a checkout
        case str(), str() if _MADE.sub(r"\1", one) == _MADE.sub(r"\1", other):
            return
        case _ if one != other:
            yield f"{place}: {one!r} and {other!r}"


def _command(request: Mapping[str, Any]) -> str:
    pairs = [
        f"{name}={shlex.quote(value)}" if isinstance(value, str) else f"{name}:={shlex.quote(json.dumps(value))}"
        for name, value in request["params"].items()
    ]
    return " ".join(["cstp call", request["method"], *pairs])


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value[:MOST]] + ["…"] * (len(value) > MOST)
    if isinstance(value, str) and len(value) > LONGEST:
        return value[:LONGEST].rsplit(" ", 1)[0] + " …"
    return value


def main() -> None:
    """Write the section if it differs."""
    with demo(Path.cwd() / "build") as running:
        made = section(running)
    if differences(shown(), made):
        before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
        README.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
        sys.stdout.write(f"written: {README.name}\n")


if __name__ == "__main__":
    main()
