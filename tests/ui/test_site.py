"""`cstp site`: exactly a token's view, as files that need no server."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cstp_server.ui.assets import static_folder
from tests.http_servers import Handler, HttpServer
from tests.serving import Serving, serve
from tests.ui.sites import about, cstp, everything, made, part, records, write_lines

__all__ = ["serve"]
Serve = Callable[..., Serving]
Marked = tuple[Path, dict[bytes, tuple[str, str | None]]]
LEVELS = ("normal", "sensitive", "highly_sensitive")
PROJECTS = (None, "alpha", "beta")
pytestmark = pytest.mark.long("writes many sites")
MARK = re.compile(rb"mark\d{3}x")
LARGEST_LIST = 1_000_000
LARGEST_BUNDLE = 256_000


def _marked(number: int, kind: str, level: str, project: str | None) -> list[dict[str, Any]]:
    """Return records with a unique mark in every text."""
    mark = f"mark{number:03d}x"
    common = {"sensitivity": level, **({} if project is None else {"project": project})}
    if kind == "decision":
        texts = {"title": f"Choose {mark}", "text": f"We choose {mark}.", "tags": [mark], "category": mark}
        return [{"kind": "decision", "id": f"d-{mark}", **texts, "date": "2026-01-02", **common}]
    if kind == "episode":
        texts = {"query": f"try {mark}", "reflection": f"learned {mark}", "tags": [mark], "category": mark}
        return [{"kind": "episode", "id": 1 + number, **texts, "reward": 0.5, **common}]
    if kind == "chunk":
        source = {"kind": "source", "id": f"s-{mark}", "title": f"Book {mark}"}
        chunk = {"kind": "chunk", "id": f"c-{mark}", "source_id": f"s-{mark}", "content": f"It says {mark}."}
        return [source | common, chunk | common]
    content = {"name": f"Pattern {mark}", "problem": f"of {mark}", "solution": f"by {mark}"}
    extraction = {"kind": "extraction", "id": f"e-{mark}", "type": "pattern", "topics": [mark], "content": content}
    return [extraction | common]


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """Make a folder with `data`: records of all kinds, levels and projects; and the rights for each mark."""
    folder = tmp_path_factory.mktemp("marked")
    rights: dict[bytes, tuple[str, str | None]] = {}
    lines: list[dict[str, Any]] = []
    for kind in ("decision", "episode", "chunk", "extraction"):
        for level in LEVELS:
            for project in PROJECTS:
                lines += _marked(len(rights), kind, level, project)
                rights[f"mark{len(rights):03d}x".encode()] = (level, project)
    # a visible decision naming a hidden decision
    hidden = next(mark.decode() for mark, right in rights.items() if right == ("highly_sensitive", "beta"))
    later = {"kind": "decision", "id": "d-later", "title": "Later", "text": "It is so."}
    lines.append(later | {"supersedes": f"d-{hidden}"})
    write_lines(folder / "records.jsonl", lines)
    assert cstp(folder, "ingest", "records.jsonl").returncode == 0
    return folder, rights


@pytest.mark.parametrize(
    ("options", "levels", "projects"),
    [
        ([], ("normal",), PROJECTS),
        (["--clearance", "sensitive"], LEVELS[:2], PROJECTS),
        (["--clearance", "highly_sensitive"], LEVELS, PROJECTS),
        (["--project", "alpha"], ("normal",), ("alpha",)),
        (["--project", "alpha", "--project", "beta", "--clearance", "sensitive"], LEVELS[:2], ("alpha", "beta")),
    ],
    ids=str,
)
def test_no_file_has_anything_of_a_record_out_of_sight(
    marked: Marked, tmp_path: Path, options: list[str], levels: tuple[str, ...], projects: tuple[str | None, ...]
) -> None:
    folder, rights = marked
    summary = made(folder, tmp_path / "site", *options)
    seen = {mark for mark, (level, project) in rights.items() if level in levels and project in projects}
    assert set(MARK.findall(everything(tmp_path / "site"))) == seen
    of_each_kind = len(seen) // 4
    assert summary["episodes"] == summary["passages"] == summary["extractions"] == of_each_kind
    assert summary["decisions"] == of_each_kind + (None in projects)
    assert summary["links"] == (levels == LEVELS)


def test_a_site_has_the_rights_of_folder_or_token(serve: Serve, marked: Marked, tmp_path: Path) -> None:
    serving = serve()
    target = {"CSTP_DATA_DIR": str(serving.settings.data_dir), "CSTP_STORE__URL": serving.settings.store_url}
    assert cstp(tmp_path, "ingest", marked[0] / "records.jsonl", environment=target).returncode == 0
    serving.caught_up()
    token = serving.token(clearance="sensitive", projects=["alpha", "beta"])
    asked = {"CSTP_URL": serving.url, "CSTP_TOKEN": token}
    from_server = made(tmp_path, "there", environment=asked)
    rights = ("--clearance", "sensitive", "--project", "alpha", "--project", "beta")
    from_folder = made(marked[0], tmp_path / "here", *rights)
    assert from_server["decisions"] > 0
    assert from_server | {"folder": "", "bytes": 0} == from_folder | {"folder": "", "bytes": 0}
    names = sorted(path.relative_to(tmp_path / "here") for path in (tmp_path / "here").rglob("*.js"))
    lists = [name.stem.rpartition("-") for name in names if name.parts[0] == "data" and name.name != "about.js"]
    assert {name for name, _, _ in lists} == {
        *("decisions", "texts", "episodes", "patterns", "passages", "passageTexts", "search")
    }
    for name, _, _ in lists:
        ours, theirs = (_without_times(records(tmp_path / place, name)) for place in ("here", "there"))
        assert ours == theirs
    secret = token.rpartition("_")[2]
    assert not any(word.encode() in everything(tmp_path / "there") for word in (secret, token, serving.url))


def _without_times(found: object) -> object:
    """Remove times: two stores have read equal files at different times, and order ties by id."""
    if isinstance(found, dict):
        own = ("recordedAt", "createdAt", "file")
        return {name: _without_times(value) for name, value in found.items() if name not in own}
    if isinstance(found, list):
        return sorted((_without_times(one) for one in found), key=str)
    return found


@pytest.fixture
def written(serve: Serve) -> Serving:
    """Start a server with decisions written, reviewed, changed and linked by agents, and records of other kinds."""
    serving = serve()
    ids = [_decide(serving, f"Decide {n}", confidence=n / 10, tags=["t", f"t{n}"]) for n in range(6)]
    serving.ask("reviewDecision", id=ids[0], outcome="success", lessons="It holds.", actualResult="As expected.")
    serving.ask("updateDecision", id=ids[1], reason="a better text", updates={"decision": "Decide 1 otherwise"})
    for source, type, target in ((0, "relates_to", 1), (1, "depends_on", 2), (3, "supersedes", 2)):
        serving.ask("linkDecisions", sourceId=ids[source], edgeType=type, targetId=ids[target], context="so it is")
    for n in range(3):
        serving.ask("storeEpisode", query=f"try {n}", reward=n / 2 - 0.5, reflection=f"learned {n}", tags=["e"])
    book = {"kind": "source", "title": "A book", "content": "# One\n\nIt says this.\n"}
    serving.ask("storeKnowledge", records=[book])
    serving.caught_up()
    return serving


def _decide(serving: Serving, text: str, **members: Any) -> str:
    id: str = serving.ask("recordDecision", decision=text, **members)["id"]
    return id


def _asked(serving: Serving) -> dict[str, str]:
    return {"CSTP_URL": serving.url, "CSTP_TOKEN": serving.token(clearance="highly_sensitive")}


def test_the_files_hold_the_answers_of_the_methods(written: Serving, tmp_path: Path) -> None:
    made(tmp_path, "site", environment=_asked(written))
    site = tmp_path / "site"
    rows = records(site, "decisions")
    listed = written.ask("listDecisions", sort="recordedAt", order="asc", limit=500)["decisions"]
    assert [row["listed"] for row in rows] == listed
    whole = {one["id"]: written.ask("getDecision", id=one["id"])["decision"] for one in listed}
    for row in rows:
        name = f"texts-{row['file']}.js"
        (there,) = [one for one in part(site / "data" / name, "texts", row["file"]) if one["id"] == row["listed"]["id"]]
        assert there == whole[there["id"]]
    assert any(one["reviews"] for one in whole.values())
    assert any(len(one["history"]) > 1 for one in whole.values())
    graphs = [written.ask("getGraph", nodeId=id, depth=1)["edges"] for id in whole]
    edges = {json.dumps(edge, sort_keys=True) for graph in graphs for edge in graph}
    assert {json.dumps(edge, sort_keys=True) for edge in records(site, "links")} == edges
    assert len(edges) == len(records(site, "links")) == 3
    ids = [one["id"] for one in written.ask("listEpisodes")["episodes"]]
    assert records(site, "episodes") == [written.ask("getEpisode", id=id) for id in ids]
    passages = records(site, "passageTexts")
    assert passages == [written.ask("getChunk", chunkId=one["chunkId"], relatedLimit=20) for one in passages]
    changed = [one["id"] for one in written.ask("changes", since=0, kinds=["chunk"])["changes"]]
    assert sorted(one["chunkId"] for one in passages) == sorted(changed) != []
    assert {one["source"] for one in records(site, "search") if one["type"] == "chunk"} == {"A book"}


def test_extractions_are_in_lists_in_the_order_of_the_methods(library: Serving, tmp_path: Path) -> None:
    made(tmp_path, "site", "--kind", "extraction", environment=_asked(library))
    site = tmp_path / "site"
    for name, method in (("extracted", "getDecisions"), ("patterns", "getPatterns"), ("warnings", "getWarnings")):
        assert records(site, name) == library.ask(method, limit=500)["results"] != []
    assert {one["type"] for one in records(site, "search")} == {"extraction"}
    assert {path.name for path in (site / "data").iterdir()} == {
        *("about.js", "extracted-0.js", "patterns-0.js", "warnings-0.js", "search-0.js")
    }


def test_lists_are_split_and_texts_are_in_smaller_files(tmp_path: Path) -> None:
    words = "one two three four five six seven eight nine ten "
    long = {"kind": "decision", "text": words * 1000, "date": "2026-01-01"}
    write_lines(tmp_path / "many.jsonl", [long | {"id": f"d{n}", "title": f"Decide {n}"} for n in range(30)])
    assert cstp(tmp_path, "ingest", "many.jsonl").returncode == 0
    summary = made(tmp_path, "site")
    assert not summary["cut"]
    data = tmp_path / "site" / "data"
    assert len(records(tmp_path / "site", "texts")) == len(records(tmp_path / "site", "search")) == 30
    for name, most in (("texts", LARGEST_BUNDLE), ("search", LARGEST_LIST)):
        sizes = [path.stat().st_size for path in data.glob(f"{name}-*.js")]
        assert len(sizes) > 1
        assert max(sizes) <= most * 1.01  # and the escapes
    for row in records(tmp_path / "site", "decisions"):
        bundle = part(data / f"texts-{row['file']}.js", "texts", row["file"])
        assert row["listed"]["id"] in [one["id"] for one in bundle]
    assert about(tmp_path / "site")["files"]["texts"] == len(list(data.glob("texts-*.js")))


def test_of_many_records_the_beginnings_are_searched(tmp_path: Path) -> None:
    count = 200
    long = {"kind": "episode", "reflection": "x" * 31_000, "reward": 0.1}
    write_lines(tmp_path / "many.jsonl", [long | {"id": n, "query": f"try {n}"} for n in range(1, count + 1)])
    assert cstp(tmp_path, "ingest", "many.jsonl").returncode == 0
    summary = made(tmp_path, "site")
    assert (summary["searched"], summary["cut"]) == (6_000_000 // count, True)
    assert {len(one["text"]) for one in records(tmp_path / "site", "search")} == {6_000_000 // count}
    assert len(records(tmp_path / "site", "episodes")[0]["reflection"]) == 31_000


AWKWARD = "'; alert(1); \\u0041 \\ \" </script><!-- \u2028 \u2029 ${x} 🙂 \u00e4 <img src=x onerror=alert(1)>"


def test_any_text_is_data_and_nothing_else(tmp_path: Path) -> None:
    record = {"kind": "decision", "id": "d1", "title": f"Title {AWKWARD}".replace("\u2028", "").replace("\u2029", "")}
    write_lines(tmp_path / "a.jsonl", [record | {"text": AWKWARD, "metadata": {"__proto__": {"polluted": True}}}])
    assert cstp(tmp_path, "ingest", "a.jsonl").returncode == 0
    made(tmp_path, "site", "--title", "</title><script>alert(1)</script>")
    (whole,) = records(tmp_path / "site", "texts")
    assert (whole["text"], whole["title"]) == (AWKWARD, record["title"])
    assert whole["given"] == {"__proto__": {"polluted": True}}
    data = [path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "data").iterdir()]
    assert not any(mark in text for text in data for mark in "\u2028\u2029")
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in index


def test_the_page_names_and_fetches_only_files_of_the_site(marked: tuple[Path, object], tmp_path: Path) -> None:
    made(marked[0], tmp_path / "site")
    site = tmp_path / "site"
    index = (site / "index.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', index)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'self' file:"
    assert "connect-src" not in rules
    assert index.index("Content-Security-Policy") < index.index("<link") < index.index("<script")
    linked = re.findall(r'(?:src|href)="([^"]+)"', index)
    assert len(linked) > 10
    assert [name for name in linked if not (site / name).is_file()] == []
    assert {"page/site.js", "page/site_start.js"} <= set(linked)
    assert not (site / "page" / "sign_in.js").exists()
    assert not (site / "page" / "start.js").exists()
    libraries = {path.name for path in (static_folder() / "vendor").iterdir()}
    assert {path.name for path in (site / "vendor").iterdir()} == libraries
    licences = {path.name for path in (static_folder().parent / "licences").iterdir()}
    assert {path.name for path in (site / "licences").iterdir()} == licences


def test_the_summary_is_in_words_or_in_json(marked: tuple[Path, object], tmp_path: Path) -> None:
    done = cstp(marked[0], "site", tmp_path / "site", "--kind", "episode", "--kind", "decision")
    assert done.returncode == 0
    assert re.fullmatch(
        r"4 decisions, 3 episodes, 0 extractions, 0 passages written to \S+/site in \d+ files \(\d\.\d MB\)\n"
        r"open \S+/site/index\.html in a browser, or put the folder on any web host\n",
        done.stdout,
    )
    summary = made(marked[0], tmp_path / "site", "--kind", "decision", "--title", "Ours")
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert (summary["files"], summary["bytes"]) == (
        len(files) - 1,
        sum(path.stat().st_size for path in files if path.name != "cstp-site.json"),
    )
    held = about(tmp_path / "site")
    assert (held["title"], held["agent"]) == ("Ours", "cstp")
    assert (held["counts"]["decisions"], held["counts"]["episodes"]) == (4, 0)


# --- the folder written to


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder whose `data` has a single decision, for tests to copy."""
    folder = tmp_path_factory.mktemp("small")
    write_lines(folder / "a.jsonl", [{"kind": "decision", "id": "first", "title": "First", "text": "We do."}])
    assert cstp(folder, "ingest", "a.jsonl").returncode == 0
    return folder


@pytest.fixture
def small(ingested: Path, tmp_path: Path) -> Path:
    """Copy for this test a folder whose `data` has a single decision."""
    return Path(shutil.copytree(ingested, tmp_path, dirs_exist_ok=True))


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_without_a_site_is_left_alone(small: Path) -> None:
    made(small, "site")
    for name in ("file", "other/deep/notes.md", "false/index.html", "false/cstp-site.json", "site/data/CNAME"):
        (small / name).parent.mkdir(parents=True, exist_ok=True)
        (small / name).write_text("[]")
    for folder, reason in (
        ("file", "DIR: file is not a folder"),
        ("other", "DIR: other is neither empty"),
        ("false", "DIR: false is neither empty"),
        ("site", "site/data/CNAME is not part of the earlier site"),
    ):
        before = _state(small)
        done = cstp(small, "site", folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert reason in done.stderr
        assert _state(small) == before


def test_a_second_run_replaces_the_first(small: Path) -> None:
    (small / "empty" / "deep").mkdir(parents=True)
    (small / "site").mkdir()
    (small / "link").symlink_to("site")
    assert made(small, "link")["decisions"] == 1
    write_lines(small / "b.jsonl", [{"kind": "decision", "id": "second", "title": "Second", "text": "We do."}])
    assert cstp(small, "ingest", "b.jsonl").returncode == 0
    assert cstp(small, "delete", "first").returncode == 0
    made(small, "link", "--kind", "decision")
    assert [one["id"] for one in records(small / "site", "texts")] == ["second"]
    assert not any("first" in path.read_text() for path in (small / "site" / "data").iterdir())
    assert (small / "link").is_symlink()
    assert {path.name for path in small.iterdir()} == {"a.jsonl", "b.jsonl", "data", "empty", "link", "site"}
    listed = json.loads((small / "site" / "cstp-site.json").read_text())["files"]
    assert sorted(listed) == sorted(set(_state(small / "site")) - {"cstp-site.json"})
    assert made(small, "new/deep/site")["decisions"] == 1


@pytest.mark.parametrize("clearance", ["normal", "sensitive"])
def test_others_may_read_a_site_of_normal_clearance_alone(small: Path, clearance: str) -> None:
    made(small, "site")
    made(small, "site", "--clearance", clearance)
    masked = os.umask(0)
    os.umask(masked)
    modes = {path.stat().st_mode & 0o777 for path in (small / "site").rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (small / "site", *(small / "site").rglob("*")) if path.is_dir()}
    wanted = ({0o666 & ~masked}, {0o777 & ~masked}) if clearance == "normal" else ({0o600}, {0o700})
    assert (modes, folders) == wanted


@pytest.fixture
def failing() -> Iterator[str]:
    """Yield the URL of a server that identifies the caller, and fails in the next call."""

    class Failing(Handler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            limits: dict[str, Any] = {"limits": [], "expiresAt": "2030-01-01T00:00:00Z"}
            who = {"agent": "a", "scopes": ["read"], "clearance": "normal", "projects": None, **limits}
            result = {"result": {**who, "server": {"agent": "s", "version": "1"}}}
            data = {"component": "records", "requestId": "r"}
            error = {"code": -32003, "message": "Query failed", "data": data}
            answer = result if sent["method"] == "cstp.whoami" else {"error": error}
            body = json.dumps({"jsonrpc": "2.0", "id": sent["id"], **answer}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = HttpServer(Failing)
    yield f"http://127.0.0.1:{server.server_port}"
    server.close()


def test_a_failing_run_leaves_the_earlier_site(small: Path, failing: str) -> None:
    made(small, "site")
    before = _state(small)
    done = cstp(small, "site", "site", "--url", failing, "--json", environment={"CSTP_TOKEN": "t"})
    assert done.returncode == 8
    assert json.loads(done.stdout)["data"]["component"] == "records"
    assert _state(small) == before
    assert {path.name for path in small.iterdir()} == {"a.jsonl", "data", "site"}


def test_an_impossible_request_is_refused_by_exit_code(small: Path, written: Serving) -> None:
    unreachable = {"CSTP_URL": "http://127.0.0.1:9", "CSTP_TOKEN": "t"}
    asked = {"CSTP_URL": written.url, "CSTP_TOKEN": "wrong"}
    writer = {"CSTP_URL": written.url, "CSTP_TOKEN": written.token(scopes=("write",))}
    for words, environment, code, text in (
        ([], unreachable, 3, "does not answer"),
        ([], asked, 4, "Authentication required"),
        ([], writer, 4, "cstp token create --agent NAME --scope read"),
        ([], {"CSTP_URL": written.url}, 2, "--token: give one, or set CSTP_TOKEN"),
        (["--clearance", "normal"], asked, 2, "--clearance: requires a data folder"),
        (["--project", "p"], asked, 2, "--project: requires a data folder"),
        (["--url", written.url, "--data-dir", "data"], asked, 2, "--url: cannot be combined"),
        (["--clearance", "secret"], {}, 2, "--clearance: must be one of normal, sensitive, highly_sensitive"),
        (["--project", "a\nb"], {}, 2, "--project: must be"),
        (["--kind", "turn"], {}, 2, "--kind: must be one of decision, episode, extraction, chunk"),
        (["--data-dir", "none"], {}, 2, "holds no records yet"),
    ):
        done = cstp(small, "site", "out", *words, environment=environment)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert text in done.stderr
        assert not (small / "out").exists()
    assert made(small, "out", "--data-dir", "data", environment=asked)["decisions"] == 1


def test_a_folder_opened_by_a_server_is_asked_through_it(small: Path, live_server: Callable[..., Any]) -> None:
    live = live_server(data_dir=small / "data")
    done = cstp(small, "site", "out")
    assert done.returncode == 1
    assert "--url" in done.stderr
    asked = {"CSTP_URL": f"http://127.0.0.1:{live.port}", "CSTP_TOKEN": live.token()}
    assert made(small, "out", environment=asked)["decisions"] == 1


def test_a_spent_limit_is_waited_for(small: Path, live_server: Callable[..., Any]) -> None:
    live = live_server({"limits.default": "4/second"}, data_dir=small / "data")
    asked = {"CSTP_URL": f"http://127.0.0.1:{live.port}", "CSTP_TOKEN": live.token()}
    assert made(small, "out", environment=asked)["decisions"] == 1


def test_a_folder_is_read_without_a_token_and_the_audit_names_the_reader(small: Path) -> None:
    made(small, "out")
    assert not (small / "data" / "tokens.json").exists()
    listed = cstp(small, "audit", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert '"site"' in listed.stdout
    assert "cstp.getDecision" in listed.stdout
