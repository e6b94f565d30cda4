"""Scripts in `examples` behave as their pages document."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
import trustme

from cstp_server.tokens import create_token
from tests.programs import COMMAND, plain_environment, run_cstp, run_program
from tests.stores import free_port

ROOT = Path(__file__).parents[2]


@pytest.fixture
def around(tmp_path: Path, cstp_for_shells: Path) -> Mapping[str, str]:
    """Return the environment of a user with .venv; searches use words, since a model takes time to load."""
    path = f"{cstp_for_shells}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return plain_environment(PATH=path, TMPDIR=str(tmp_path))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Copy the example whose decisions are read in CI."""
    return Path(shutil.copytree(ROOT / "examples" / "decisions_in_ci", tmp_path / "repository"))


def checked(repository: Path, around: Mapping[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**around, "CSTP_SERVER__PORT": str(free_port())}
    return run_program("sh", repository / "ci.sh", *words, env=environment)


@pytest.mark.long("runs examples as programs")
@pytest.mark.timeout(300)
def test_a_ci_job_prints_applicable_decisions(repository: Path, around: Mapping[str, str], tmp_path: Path) -> None:
    page = (repository / "README.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    done = checked(repository, around, "prices")
    assert (done.returncode, done.stdout) == (0, shown), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


@pytest.mark.timeout(300)
def test_a_ci_job_fails_on_an_unreadable_record(repository: Path, around: Mapping[str, str]) -> None:
    (repository / "docs" / "decisions" / "0003-none.md").write_text(
        "---\nstatus: accepted\nconfidence: 7\n---\n# One\n"
    )
    done = checked(repository, around, "prices")
    assert done.returncode != 0
    assert "0003-none.md" in done.stderr
    assert done.stdout == ""


@pytest.mark.long("runs examples as programs")
@pytest.mark.timeout(300)
def test_a_ci_job_writes_only_pages(repository: Path, around: Mapping[str, str], tmp_path: Path) -> None:
    for _ in range(2):
        done = run_program("sh", repository / "pages.sh", "build/pages", cwd=tmp_path, env=around)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("2 decisions, 0 episodes")
    assert "Decisions of the shop" in (tmp_path / "build" / "pages" / "index.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build", "repository"]
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["pages"]


@pytest.mark.long("runs examples as programs")
@pytest.mark.timeout(300)
def test_a_ci_job_publishes_decisions_once(repository: Path, secure_server: Mapping[str, str], tmp_path: Path) -> None:
    page = (repository / "README.md").read_text()
    (shown,) = re.findall(r"^cstp (token create .*)$", page, re.MULTILINE)
    data = ["--data-dir", str(tmp_path / "data"), "--quiet"]
    token = run_cstp(*shlex.split(shown), *data, env=secure_server, check=True).stdout.strip()
    environment = {**secure_server, "CSTP_TOKEN": token, "SSL_CERT_FILE": str(tmp_path / "ca.pem")}
    seen = [run_program("sh", repository / "publish.sh", env=environment) for _ in range(2)]
    assert [done.returncode for done in seen] == [0, 0], seen
    assert ["2 new" in done.stdout for done in seen] == [True, False]
    assert "2 unchanged" in seen[1].stdout
    found = run_cstp("call", "cstp.queryDecisions", "query=prices", "limit:=1", "--json", env=environment, check=True)
    assert json.loads(found.stdout)["decisions"][0]["title"] == "Keep prices in minor units"


@pytest.mark.long("runs examples as programs")
@pytest.mark.timeout(300)
def test_agents_write_within_the_rights_of_their_tokens(around: Mapping[str, str], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "examples" / "writing", tmp_path / "writing"))
    shown = re.findall(r"^```text\n(.*?)^```$", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    done = run_program("sh", folder / "run.sh", env={**around, "CSTP_SERVER__PORT": str(free_port())})
    assert (done.returncode, done.stdout) == (0, "".join(shown)), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["writing"]


@pytest.mark.long("runs examples as programs")
@pytest.mark.timeout(300)  # six programs in sequence, on a possibly busy machine
def test_two_agents_ask_each_other_and_get_the_documented_answers(around: Mapping[str, str], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "examples" / "two_agents", tmp_path / "two_agents"))
    for port in ("8101", "8102"):
        own = str(free_port())
        for file in (folder / "agents.yaml", folder / "run.sh"):
            file.write_text(file.read_text().replace(port, own))
    done = run_program("sh", folder / "run.sh", env=around)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^```text\n(.*?)^```$", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert done.stdout.endswith(shown[0])
    assert [path.name for path in tmp_path.iterdir()] == ["two_agents"]


@pytest.fixture
def secure_server(tmp_path: Path, around: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Serve the sample over HTTPS with a certificate from a separate authority; yield the call options."""
    authority, data, port = trustme.CA(), tmp_path / "data", free_port()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    sample = [str(ROOT / "docs" / "sample"), str(ROOT / "docs" / "decisions")]
    run_cstp("ingest", "--data-dir", data, *sample, env=around, check=True)
    _, token = create_token(data / "tokens.json", "smoke", lifetime=timedelta(hours=1))
    flags = ["--data-dir", str(data), "--port", str(port), "--ssl-certfile", str(tmp_path / "server.pem")]
    running = subprocess.Popen([*COMMAND, "serve", *flags], env=around, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    assert any("https://" in line for line in running.stderr)
    yield {**around, "CSTP_URL": f"https://127.0.0.1:{port}", "CSTP_TOKEN": token}
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=120)


@pytest.mark.long("runs examples as programs")
@pytest.mark.timeout(600)
def test_the_smoke_script_checks_https(secure_server: Mapping[str, str], tmp_path: Path) -> None:
    def smoke(**changes: str) -> "subprocess.CompletedProcess[str]":
        verify = f"--verify={changes.pop('verify', tmp_path / 'ca.pem')}"
        return run_program("sh", ROOT / "examples" / "smoke.sh", verify, env={**secure_server, **changes})

    done = smoke()
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^(cstp\.\w+): ok$", done.stdout, re.MULTILINE)) == {
        *("cstp.whoami", "cstp.queryDecisions", "cstp.getDecisions", "cstp.getPatterns", "cstp.getWarnings"),
        *("cstp.searchKnowledge", "cstp.listEpisodes", "cstp.recall"),
    }
    assert smoke(CSTP_TOKEN="cstp_wrong").returncode != 0
    untrusted = smoke(verify="yes")
    assert untrusted.returncode != 0
    assert "certificate" in untrusted.stderr.lower()
