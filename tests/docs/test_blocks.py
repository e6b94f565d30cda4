"""Every block of shell commands in the documents, run as by a reader who pastes block after block.

A block's placeholder for a reader's host or folder is replaced by a test value. `cstp serve` runs until it prints its
address, `cstp watch` until its first summary, and both must then end well.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import chromadb
import pytest
import trustme

from cstp_server.cli.main import run
from cstp_server.tokens import SCOPES
from tests.docs.test_readme import PAGES, ROOT
from tests.programs import plain_environment, run_program
from tests.serving import Serving, start
from tests.stores import ChromaProgram, PostgreSQL, Stores

MODEL = "/models/gte-small-int8"
# Third-party programs, and programs tested elsewhere: tests/image, tests/client, tests/cli/test_demo.py, tests/mcp;
# `cstp ui` in tests/ui.
NOT_RUN = ("docker", "claude", "pip", "make")
WRITING = ("writing.md", "SKILL.md", "audit.md", "forgetting.md")  # with writing commands
BLOCKS = {
    page: blocks
    for page in PAGES
    if (blocks := re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    and page.parent.parent.name != "examples"  # run by tests/docs/test_examples.py
    and page.name != "adding-a-method.md"  # with a patch for a checkout: tests/docs/test_worked_patches.py
}
SERVE = """
import subprocess, sys
server = subprocess.Popen([*sys.argv[1:], "--port", "0"], stderr=subprocess.PIPE, text=True)
told = []
for line in server.stderr:
    told.append(line)
    if '"serving"' in line:
        server.terminate()
sys.stderr.writelines(told)
sys.exit(server.wait() or not any('"serving"' in line for line in told))
"""
WATCH = """
import subprocess, sys
watch = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
first = watch.stdout.readline()
watch.terminate()
sys.exit(watch.wait() or not first)
"""
FIRESTORE = "projects/harbour/databases/(default)/documents/notes/n1"
# Files of other memories, by their names on the pages.
DUMPS: dict[str, Any] = {
    "points.json": {"result": {"points": [{"id": 1, "payload": {"text": "Sessions live in PostgreSQL."}}]}},
    "extractions.json": {"_id": {"$oid": "65a1b2c3d4e5f60718293a4b"}, "text": "Locks are held for a second."},
    "documents.json": {"documents": [{"name": FIRESTORE, "fields": {"text": {"stringValue": "Queues are emptied."}}}]},
    "memories.json": {"results": [{"id": "m1", "memory": "Prefers short names", "user_id": "ana"}]},
    "graph.json": [{"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Ana Reyes"}}],
    "export.json": {"data": {"items": [{"noteId": 1, "note": "Sessions live in PostgreSQL.", "labels": ["mail"]}]}},
}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Serving]]:
    """Yield a folder with a store over the sample, and a server over a copy."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CSTP_EMBEDDING__MODEL", "none")
        assert run(["ingest", str(ROOT / "docs" / "sample"), str(ROOT / "docs" / "decisions")]) == 0
        assert run(["token", "create", "--agent", "me", "--quiet"]) == 0
    served = folder / "served"
    shutil.copytree(folder / "data", served)
    serving, stop = start(served, Stores(None), None, None)
    yield folder / "data", serving
    stop()


@pytest.fixture
def programs(tmp_path: Path, cstp_for_shells: Path) -> Path:
    """Return the programs that a shell finds first: `cstp`, and programs that are not run."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "serve.py").write_text(SERVE)
    (folder / "watch.py").write_text(WATCH)
    entry = cstp_for_shells / "cstp"
    scripts = dict.fromkeys(NOT_RUN, "true") | {
        "cstp": f'case "$1" in serve) exec {sys.executable} -IS {folder}/serve.py {entry} "$@";; esac\n'
        f'case "$1" in watch) exec {sys.executable} -IS {folder}/watch.py {entry} "$@";; esac\n'
        f'case "$1" in demo | ui) exit 0;; esac\n'
        f'exec {entry} "$@"'
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def home(tmp_path: Path, world: tuple[Path, Serving]) -> Path:
    """Make a repository with the files mentioned on the pages."""
    folder = tmp_path / "home"
    run_program("git", "init", "-q", folder, check=True)
    shutil.copytree(world[0], folder / "data")
    shutil.copytree(ROOT / "docs" / "decisions", folder / "docs" / "adr")
    (folder / "notes.jsonl").write_text('{"kind": "episode", "query": "a lock", "reward": 1, "id": 700}\n')
    (folder / "talk.txt").write_text("Ann: Where do sessions live?\nBen: In PostgreSQL.\n")
    for name, dump in DUMPS.items():
        (folder / name).write_text(json.dumps(dump))
    for name, language, path in (
        ("decision-files", "jsonl", "decisions.jsonl"),
        ("operations", "yaml", "behind-a-proxy.yaml"),
    ):
        page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        block = re.search(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        assert block is not None
        (folder / path).write_text(block[1])
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/activate").touch()
    (folder / "my-server.yaml").write_text("server:\n  grace_seconds: 5\n")
    return folder


@pytest.fixture
def places(
    tmp_path: Path, world: tuple[Path, Serving], request: pytest.FixtureRequest, home: Path
) -> Callable[[str], str]:
    """Replace placeholders for a reader's own places."""
    (tmp_path / "backups").mkdir()

    def certificate() -> str:
        issued = trustme.CA().issue_cert("decisions.example.org")
        issued.private_key_pem.write_to_path(tmp_path / "decisions.key")
        for piece in issued.cert_chain_pems:
            piece.write_to_path(tmp_path / "decisions.pem", append=True)
        return str(tmp_path / "decisions")

    def chroma() -> str:
        server: ChromaProgram = request.getfixturevalue("chroma_server")
        return server.url

    def postgresql() -> str:
        server: PostgreSQL = request.getfixturevalue("postgresql")
        return server.database_url(server.create_database())

    def collection(client: "chromadb.api.ClientAPI") -> None:
        client.create_collection("notes").add(ids=["a"], documents=["Sessions live in PostgreSQL."], embeddings=[[1.0]])

    def collection_on_a_server() -> str:
        server: ChromaProgram = request.getfixturevalue("chroma_server")
        collection(chromadb.HttpClient("127.0.0.1", server.port))
        return f"chroma:{server.url}/notes"

    def collection_in_a_folder() -> str:
        collection(chromadb.PersistentClient(str(tmp_path / "chroma")))
        return f"chroma:{tmp_path}/chroma/notes"

    def former_collection() -> str:
        server: ChromaProgram = request.getfixturevalue("chroma_server")
        server.create("decisions-former-0123456789ab", {"seq": 1}, [1.0])
        return "decisions-former-0123456789ab"

    def decision() -> str:
        written = world[1].ask("recordDecision", decision="Keep orders in PostgreSQL", confidence=0.8)
        return str(written["id"])

    def memory() -> str:
        written = world[1].ask("remember", content="The pilot boards at noon.")
        return str(written["id"])

    def episode() -> str:
        written = world[1].ask("storeEpisode", query="Find a berth", reward=0.5, reflection="Ask first.")
        return str(written["id"])

    replacements: Mapping[str, Callable[[], str]] = {
        "2862595965595456": episode,
        "dec_2f6b0c9d4e1a8b37": decision,
        "dec_5b1e9a7c3d2f4e60": decision,
        "art_9f3c2b7a1d4e5f60": memory,
        "chroma:http://localhost:8000/notes": collection_on_a_server,
        "chroma:/var/lib/notes/chroma/notes": collection_in_a_folder,
        "postgresql://cstp:…@db/cstp": postgresql,
        "http://chroma:8000": chroma,
        "decisions-MODEL-STORE": former_collection,
        "redis://redis:6379/0": lambda: str(request.getfixturevalue("shared_redis").url),
        'https://decisions.example --token "$CSTP_TOKEN"': lambda: (
            f"{world[1].url} --token {world[1].token(scopes=SCOPES, clearance='highly_sensitive')}"
        ),
        "http://127.0.0.1:8100": lambda: world[1].url.removesuffix("/cstp"),
        "curl -s ": lambda: "curl -sf ",
        "/etc/ssl/decisions": certificate,
        "/home/me/cstp-data": lambda: str(home / "data"),
        "/shared/tokens.json": lambda: str(home / "data" / "tokens.json"),
        "/backups": lambda: str(tmp_path / "backups"),
        "/var/lib": lambda: str(tmp_path),
        "cstp_…": world[1].token,
        # the page names its store
        "cstp-monday            # into a store that is empty": lambda: f"cstp-monday --data-dir {tmp_path}/new",
        " ID": lambda: (
            " $(cstp token list --json | python -c 'import json, sys; print(json.load(sys.stdin)[0][\"id\"])')"
        ),
    }

    def replaced(block: str) -> str:
        for old, new in replacements.items():
            if old in block:
                block = block.replace(old, new())
        return block

    return replaced


def commands_of(block: str) -> list[str]:
    """Return the lines without comments and without commands for third-party packages, keys or models."""
    lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
    return [line for line in lines if "chroma:openai" not in line and MODEL not in line]


@pytest.fixture
def ran(
    home: Path, programs: Path, places: Callable[[str], str], world: tuple[Path, Serving]
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Return `ran(page, blocks)`: runs a page's command blocks, each in a separate shell."""

    def run_blocks(page: Path, blocks: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        rights = {"scopes": SCOPES, "clearance": "highly_sensitive"} if page.name in WRITING else {}
        around = plain_environment(CSTP_URL=world[1].url, CSTP_TOKEN=world[1].token(**rights), HOME=str(home))
        around["PATH"] = f"{programs}:{Path(sys.executable).parent}:{around['PATH']}"
        if page.name == "operations.md":
            del around["CSTP_EMBEDDING__MODEL"]
        script = "set -eux\n" + "\n".join(f"(\n{places(block)}\n)" for block in blocks)
        # a token made by a page belongs to the page's store; calls go to the running server
        script = re.sub(r"^export CSTP_TOKEN=\$\((.*)\)$", r'made=$(\1); test -n "$made"', script, flags=re.MULTILINE)
        return run_program("bash", "-c", script, cwd=home, env=around)

    return run_blocks


@pytest.mark.long("runs commands as a reader would")
@pytest.mark.parametrize("page", BLOCKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_commands_runs(page: Path, ran: Callable[..., "subprocess.CompletedProcess[str]"]) -> None:
    done = ran(page, ["\n".join(commands) for block in BLOCKS[page] if (commands := commands_of(block))])
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.long("runs commands as a reader would")
def test_the_commands_with_a_model_in_a_folder_run(
    ran: Callable[..., "subprocess.CompletedProcess[str]"], shared_folder: Callable[[str], Path]
) -> None:
    folder = str(shared_folder("models/gte-small-int8"))
    lines = {page: [line for block in BLOCKS[page] for line in block.splitlines() if MODEL in line] for page in BLOCKS}
    assert any(lines.values())
    for page, commands in lines.items():
        done = ran(page, [command.replace(MODEL, folder) for command in commands])
        assert done.returncode == 0, done.stderr[-3000:]
