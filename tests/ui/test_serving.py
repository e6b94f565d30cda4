"""`/ui/`: the page and its files, with headers that keep other pages and scripts out."""

import gzip
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cstp_server.ui.assets import INDEX, TYPES, static_folder

Live = Any
STATIC = static_folder()
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
GUARDS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
SCRIPT = "vendor/cytoscape.js"


@pytest.fixture
def live(common_server: Callable[..., Live]) -> Live:
    return common_server()


def shown(reply: Any) -> dict[str, str]:
    """Return all headers of an answer except the date, each present once."""
    found = {name: value for name, value in reply.headers if name not in ("date", "connection")}
    assert len(found) == len([name for name, _ in reply.headers if name not in ("date", "connection")])
    return found


def folder_of_assets(live: Live) -> str:
    """Return the path of the page's files."""
    found = re.search(r"assets/[0-9a-f]{16}/", live.get("/ui/").body.decode())
    assert found is not None
    return f"/ui/{found[0]}"


def test_the_page_has_one_script_and_exact_headers(live: Live) -> None:
    reply = live.get("/ui/")
    place = folder_of_assets(live).removeprefix("/ui/")
    template = (STATIC / INDEX).read_text(encoding="utf-8")
    tags = re.findall(r'<script defer src="\{\{assets\}\}(.+)"></script>\n', template)
    assert len(tags) > 30
    assert reply.status == 200
    body = reply.body.decode()
    assert re.findall("<script.*>", body) == [f'<script defer src="{place}all.js"></script>']
    assert re.sub("<script.*>\n", "", body) == re.sub("<script.*>\n", "", template).replace("{{assets}}", place)
    scripts = live.get(f"/ui/{place}all.js").body.split(b"\n;\n")
    assert scripts == [(STATIC / name).read_bytes() for name in tags]
    assert shown(reply) == GUARDS | {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-length": str(len(reply.body)),
        "etag": reply.header("etag"),
    }


def test_every_file_has_its_type_and_exact_headers(live: Live) -> None:
    place = folder_of_assets(live)
    names = [path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()]
    assert SCRIPT in names
    assert {name.rpartition(".")[2] for name in names} <= {suffix[1:] for suffix in TYPES}
    for name in set(names) - {INDEX}:
        reply = live.get(place + name)
        content = (STATIC / name).read_bytes()
        assert (reply.status, reply.body) == (200, content)
        assert shown(reply) == GUARDS | {
            "content-type": {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}.get(
                name.rpartition(".")[2], TYPES["." + name.rpartition(".")[2]]
            ),
            "cache-control": "immutable, max-age=31536000",
            "vary": "Accept-Encoding",
            "content-length": str(len(content)),
        }


def test_the_digest_is_that_of_all_names_and_contents(live: Live) -> None:
    digest = sha256()
    for path in sorted(path for path in STATIC.rglob("*") if path.is_file()):
        name, content = path.relative_to(STATIC).as_posix(), path.read_bytes()
        digest.update(name.encode() + b"\0" + str(len(content)).encode() + b"\0" + content)
    assert folder_of_assets(live) == f"/ui/assets/{digest.hexdigest()[:16]}/"


def test_an_unchanged_page_is_not_sent_again(live: Live) -> None:
    tag = live.get("/ui/").header("etag")
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        reply = live.get("/ui/", {"If-None-Match": given})
        assert (reply.status, reply.body) == (304, b"")
        assert (reply.header("etag"), reply.header("cache-control")) == (tag, "no-cache")
        assert reply.header("content-security-policy") == POLICY
    assert live.get("/ui/", {"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [
        ("gzip", True),
        ("gzip, deflate, br, zstd", True),
        ("br;q=1.0, GZIP;q=0.8, *;q=0.1", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("br", False),
        ("identity", False),
        ("xgzip", False),
        ("gzip;q=high", False),
    ],
)
def test_gzip_is_served(live: Live, accepted: str, compressed: bool) -> None:
    reply = live.get(folder_of_assets(live) + SCRIPT, {"Accept-Encoding": accepted})
    content = (STATIC / SCRIPT).read_bytes()
    assert reply.header("content-encoding") == ("gzip" if compressed else None)
    assert reply.header("vary") == "Accept-Encoding"
    assert (gzip.decompress(reply.body) if compressed else reply.body) == content
    assert (len(reply.body) < len(content) / 2) == compressed


def test_nothing_is_served_but_the_files_under_their_digest(live: Live) -> None:
    place = folder_of_assets(live)
    assert live.get(place + SCRIPT).status == 200
    within = ["", INDEX, "vendor", "vendor/", "VENDOR/cytoscape.js", "vendor//cytoscape.js", "none.js"]
    within += ["../vendored.json", "..%2fvendored.json", "%2e%2e/vendored.json", "..%5cvendored.json"]
    within += ["/etc/passwd", "%2fetc%2fpasswd", f"{SCRIPT}%00"]
    others = [f"/ui/assets/{'0' * 16}/{SCRIPT}", f"/ui/assets/{SCRIPT}", "/ui/assets/"]
    others += ["/ui/index.html", "/ui//", "/UI/"]
    for path in (*(place + name for name in within), *others):
        reply = live.get(path)
        assert (reply.status, reply.body) == (404, b"Not Found"), path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_the_page_is_read_and_nothing_else(live: Live, method: str) -> None:
    for path in ("/ui", "/ui/", folder_of_assets(live) + SCRIPT):
        whole, head = live.get(path), live.get(path, method="HEAD")
        assert (head.status, head.body, shown(head)) == (whole.status, b"", shown(whole))
        refused = live.get(path, method=method)
        assert (refused.status, refused.header("allow"), refused.body) == (405, "GET, HEAD", b"")
    assert live.get("/", {"Accept": "text/html"}, method).status == 404


def test_addresses_are_relative_for_proxies(live: Live) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    for path, headers in (("/ui", {}), ("/", browser), ("/?x=//evil.example", browser)):
        reply = live.get(path, headers)
        assert (reply.status, reply.header("location"), reply.body) == (303, "ui/", b"")
    assert live.get("/", browser).header("vary") == "Accept"
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "text/htmlx"}):
        reply = live.get("/", headers)
        assert (reply.status, reply.body, reply.header("location")) == (404, b"Not Found", None)


def test_another_host_gets_nothing(live: Live) -> None:
    browser = {"Accept": "text/html"}
    for path in ("/ui", "/ui/", folder_of_assets(live) + SCRIPT, "/"):
        for host in ("evil.example", f"evil.example:{live.port}", "localhost.evil.example"):
            assert live.get(path, browser | {"Host": host}).status == 421
        assert live.get(path, browser | {"Host": f"LOCALHOST:{live.port}"}).status in (200, 303)


@pytest.mark.parametrize(
    ("overrides", "there"),
    [
        ({}, True),
        ({"server.host": "localhost"}, True),
        ({"server.host": "0.0.0.0"}, False),
        ({"server.host": "0.0.0.0", "ui.enabled": True}, True),
        ({"ui.enabled": True}, True),
        ({"ui.enabled": False}, False),
    ],
)
def test_the_page_is_on_for_loopback_alone_unless_the_setting_decides(
    live_server: Callable[..., Live], overrides: Mapping[str, object], there: bool
) -> None:
    live = live_server(overrides)
    place = folder_of_assets(live_server()) if not there else folder_of_assets(live)
    browser = {"Accept": "text/html"}
    paths = ("/ui", "/ui/", place + SCRIPT, "/")
    assert [live.get(path, browser).status for path in paths] == ([303, 200, 200, 303] if there else [404] * 4)
    if not there:
        assert {live.get(path, {}, method).status for path in paths for method in ("POST", "PUT")} == {404}
        assert {live.get(path, {"Host": "evil.example"}).status for path in paths} == {404}


def test_several_concurrent_first_requests_get_the_same_page(live_server: Callable[..., Live]) -> None:
    live = live_server()
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: live.get("/ui/"), range(8)))
    assert {(reply.status, reply.header("etag")) for reply in replies} == {(200, replies[0].header("etag"))}


@pytest.mark.long("starts a demo, or builds the wheel")
def test_a_start_reads_none_of_the_files(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from cstp_server.app import create_app
from cstp_server.settings import EmbeddingSettings, Settings

opened = []
sys.addaudithook(lambda event, about: opened.append(str(about[0])) if event == "open" else None)

def files():
    return sum("/ui/static/" in path for path in opened)

async def start():
    app = create_app(Settings(data_dir=Path({str(tmp_path)!r}), embedding=EmbeddingSettings(model="none")))
    async with app.router.lifespan_context(app) as state:
        print(files())
        await state["page"].assets()
        print(files())

asyncio.run(start())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    assert run.stdout.split() == ["0", str(len(files))]
