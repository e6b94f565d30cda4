"""A server with a changed embedding model, with real models: the packaged model and a folder model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

MINILM = {"CSTP_EMBEDDING__MODEL": "minilm"}
QUERY = "where do we keep what users have logged in with"
TITLES = [
    "Keep sessions in PostgreSQL",
    "Render charts on the server",
    "Name branches after tickets",
    "Rotate signing keys every month",
]


def found(url: str, token: str, mode: str, query: str = QUERY) -> list[tuple[str, float]]:
    """Return titles and distances, best first."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions"}
    params = {"query": query, "mode": mode, "limit": 50}
    answer = httpx.post(
        f"{url}/cstp", json=call | {"params": params}, headers={"Authorization": f"Bearer {token}"}, timeout=30
    ).json()
    return [(hit["title"], hit["distance"]) for hit in answer["result"]["decisions"]]


def test_another_model_answers_by_words_at_once_and_by_meaning_when_it_has_embedded_the_records(
    cstp: Callable[..., Any],
    serving: Callable[..., Any],
    adr: Callable[..., Path],
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    shared_folder: Callable[[str], Path],
) -> None:
    folder = {"CSTP_EMBEDDING__MODEL": "onnx", "CSTP_EMBEDDING__PATH": str(shared_folder("models/gte-small-int8"))}
    for number, title in enumerate(TITLES):
        adr(f"adr/{number}.md", title, f"{title}, for reasons {number}.")
    for name, value in MINILM.items():
        monkeypatch.setenv(name, value)
    assert cstp("ingest", "adr").code == 0
    token = cstp("token", "create", "--agent", "me", "--quiet").out.strip()
    server, url = serving(**MINILM)
    wait_until(lambda: len(found(url, token, "semantic")) == len(TITLES))
    first = found(url, token, "semantic")
    assert server.end().code == 0

    server, url = serving(**folder)
    assert len(found(url, token, "keyword", "keep sessions reasons")) == len(TITLES)
    wait_until(lambda: len(found(url, token, "semantic")) == len(TITLES))
    for name, value in folder.items():
        monkeypatch.setenv(name, value)
    # and continues with records written while it serves
    adr("adr/later.md", "Store logins in Redis", "Logins, for one more reason.")
    assert cstp("ingest", "adr").code == 0
    wait_until(lambda: len(found(url, token, "semantic")) == len(TITLES) + 1)
    second = dict(found(url, token, "semantic"))
    assert server.end().code == 0
    assert all(abs(second[title] - distance) > 0.01 for title, distance in first)

    monkeypatch.delenv("CSTP_EMBEDDING__PATH")
    server, url = serving(**MINILM)
    wait_until(lambda: len(found(url, token, "semantic")) == len(TITLES) + 1)
    again = [hit for hit in found(url, token, "semantic") if hit[0] in TITLES]
    assert again == first


@pytest.mark.long("stops a server while it embeds")
def test_a_server_stopped_while_embedding_old_records_ends_well(
    cstp: Callable[..., Any], serving: Callable[..., Any], adr: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(16):
        adr(f"adr/{number}.md", f"Decision {number}", f"A long story, part {number}. " * 400)
    monkeypatch.setenv("CSTP_EMBEDDING__MODEL", "none")
    assert cstp("ingest", "adr").code == 0
    server, _ = serving(**MINILM)
    done = server.end()
    assert (done.code, done.err) == (0, done.err.replace("terminate", ""))
