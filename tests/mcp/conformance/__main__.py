"""Run of the official MCP conformance suite against this server, compared with `expected.yaml`.

    python -m tests.mcp.conformance

The suite comes from npm, pinned by package-lock.json, into build/mcp-conformance. It cannot send a token, so the
application is wrapped: each incoming request gets the header. All else is the server as run by `cstp serve`.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any

import yaml

from cstp_server.limits.admission import AdmissionGate
from cstp_server.observe.log import configure_logging
from cstp_server.process.listen import bind
from cstp_server.serve import make_server
from cstp_server.settings import LogSettings, Settings
from cstp_server.tokens import create_token

HERE = Path(__file__).parent
BUILD = HERE.parents[2] / "build" / "mcp-conformance"
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
SECONDS = 300
RECORDED = "wire-schema-valid"  # the suite makes this check on any answer


@dataclass(frozen=True)
class Came:
    """Result of a scenario: whether any own check passed, and the failed checks."""

    tested: bool
    failed: frozenset[str]


def install() -> None:
    """Install the suite and Node, as locked."""
    BUILD.mkdir(parents=True, exist_ok=True)
    locked = (HERE / "package-lock.json").read_bytes()
    installed = BUILD / "installed-lock.json"
    if installed.exists() and installed.read_bytes() == locked:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, BUILD)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=BUILD, check=True, timeout=SECONDS)
    installed.write_bytes(locked)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Yield the URL of a server open to everybody."""
    given = {"server": {"port": 0}, "embedding": {"model": "none"}, "limits": {"default": "100000/minute"}}
    settings = Settings.model_validate({"data_dir": folder, **given})
    _, token = create_token(settings.tokens_path, "conformance", lifetime=timedelta(hours=1))
    server = make_server(settings, AdmissionGate(64, 64))
    application: Any = server.config.app

    async def with_token(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]}
        await application(scope, receive, send)

    server.config.app = with_token
    with bind(settings) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = monotonic() + 60
        while not server.started and thread.is_alive() and monotonic() < deadline:
            sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        server.should_exit = True
        thread.join(30)


def run_suite(url: str, revision: str) -> Mapping[str, Came]:
    """Run each scenario that the revision requires or the suite adds."""
    out = BUILD / f"results-{revision}"
    shutil.rmtree(out, ignore_errors=True)
    command = [str(BUILD / "node_modules/.bin/node"), SUITE, "server", "--url", url, "--requirements", revision]
    done = subprocess.run(
        [*command, "-o", str(out)], cwd=BUILD, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    (BUILD / f"{revision}.log").write_text(done.stdout + done.stderr)
    results = sorted(out.glob("*/checks.json"))
    return {_scenario(file.parent.name): _came(json.loads(file.read_text())) for file in results}


def _scenario(folder: str) -> str:
    """Return `tools-list` from `server-tools-list-2026-11-21T20-21-35-774Z`."""
    return re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", folder)


def _came(checks: Sequence[Mapping[str, Any]]) -> Came:
    passed = any(check["status"] == "SUCCESS" and check["id"] != RECORDED for check in checks)
    return Came(passed, frozenset(check["id"] for check in checks if check["status"] == "FAILURE"))


def differences(expected: Mapping[str, Any], came: Mapping[str, Came]) -> Iterator[str]:
    """Yield a line for each scenario that differs from the list."""
    applies = expected["applies"]
    untested = {name for group in expected["passes_untested"] for name in group["scenarios"]}
    elsewhere = {name for group in expected["does_not_apply"] for name in group["scenarios"]}
    listed = {*applies, *untested, *elsewhere}
    yield from (f"{name}: is listed and was not run" for name in sorted(listed - came.keys()))
    for name, outcome in came.items():
        failed = ", ".join(sorted(outcome.failed)) or "nothing"
        if name not in listed:
            yield f"{name}: is not listed; failed: {failed}"
        elif name in applies and outcome != Came(True, frozenset(applies[name].get("except", {}))):
            yield f"{name}: applies, and failed: {failed}"
        elif name in untested and outcome != Came(False, frozenset()):
            yield f"{name}: should pass without a check of its own; failed: {failed}"
        elif name in elsewhere and not outcome.failed:
            yield f"{name}: is listed as one that does not apply, and passes"


def main() -> int:
    install()
    configure_logging(LogSettings(level="error"))
    expected = yaml.safe_load((HERE / "expected.yaml").read_text(encoding="utf-8"))
    wrong = 0
    with TemporaryDirectory() as folder, serving(Path(folder)) as url:
        for revision, scenarios in expected.items():
            came = run_suite(url, str(revision))
            lines = list(differences(scenarios, came))
            passed = ", ".join(sorted(scenarios["applies"]))
            sys.stdout.write(f"{revision}: {len(came)} scenarios run; these apply: {passed}\n")
            sys.stdout.write("".join(f"  {line}\n" for line in lines))
            wrong += len(lines)
    sys.stdout.write(f"{wrong} differences from expected.yaml\n" if wrong else "all as listed in expected.yaml\n")
    return 1 if wrong else 0


sys.exit(main())
