"""Collections named in the settings: a server reads them automatically and reports progress."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.chroma_places import Place
from tests.ingest.conftest import CountingEmbedder
from tests.server.test_probes import get, samples
from tests.stores import free_port

SEARCH = {"query": "heron", "mode": "keyword"}


@pytest.mark.long("starts servers or processes, and waits")
def test_a_server_answers_from_the_collections_named_in_its_settings(
    live_server: Any, request_bytes: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    place = Place(str(tmp_path / "chroma"), CountingEmbedder())
    address = place.fill({"a": "The heron waits."})
    away = f"chroma:http://127.0.0.1:{free_port()}/notes"
    sources = [{"url": address, "project": "fauna", "sensitivity": "sensitive"}, {"url": away}]
    server = live_server({"sources": sources})
    entitled, other = server.token(clearance="sensitive", projects=["fauna"]), server.token()

    def found(token: str) -> list[str]:
        results = server.call("cstp.searchKnowledge", token, SEARCH).json["result"]["results"]
        return [result["chunkId"] for result in results]

    wait_until(lambda: found(entitled) == ["a"])
    assert found(other) == []
    admin = server.token(scopes=("admin",))

    def gauges() -> Any:
        return samples(get(server, request_bytes, "/metrics", admin))

    wait_until(lambda: gauges()[("cstp_source_up", (("source", away),))] == 0)
    assert gauges()[("cstp_source_up", (("source", address),))] == 1
    assert 0 <= gauges()[("cstp_source_age_seconds", (("source", address),))] < 60
    assert ("cstp_source_age_seconds", (("source", away),)) not in gauges()
    assert get(server, request_bytes, "/readyz").status == 200


@pytest.mark.long("starts servers or processes, and waits")
def test_a_server_follows_configured_folders(live_server: Any, tmp_path: Path, wait_until: Callable[..., None]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Herons\n\nThe heron waits.\n")
    (docs / "draft.md").write_text("# Draft\n\nA heron, perhaps.\n")
    for name in ("cranes", "storks", "swans"):  # so that a file is less than a third
        (docs / f"{name}.md").write_text(f"# {name}\n\nThey wade.\n")
    server = live_server({"sources": [{"path": str(docs), "prune": True, "exclude": ["draft*"]}]})
    token = server.token()

    def found() -> set[str]:
        results = server.call("cstp.searchKnowledge", token, SEARCH).json["result"]["results"]
        return {result["title"] for result in results}

    wait_until(lambda: found() == {"Herons"})
    (docs / "b.md").write_text("# More herons\n\nAnother heron.\n")
    wait_until(lambda: found() == {"Herons", "More herons"})
    (docs / "a.md").unlink()
    wait_until(lambda: found() == {"More herons"})


@pytest.mark.long("starts servers or processes, and waits")
def test_a_server_reads_by_map_and_kind(live_server: Any, tmp_path: Path, wait_until: Callable[..., None]) -> None:
    map_file, cards, minutes = tmp_path / "crm.yaml", tmp_path / "cards.json", tmp_path / "minutes.txt"
    map_file.write_text("records:\n  - kind: chunk\n    fields:\n      content: body\n      title: head\n")
    cards.write_text('[{"head": "Herons", "body": "The heron waits."}]')
    minutes.write_text("Ana: The heron waits.\n")
    sources = [{"path": str(cards), "map": str(map_file)}, {"path": str(minutes), "kind": "transcript"}]
    server = live_server({"sources": sources})
    token = server.token()

    def found() -> set[tuple[str, str]]:
        params = {"query": "heron", "mode": "keyword"}
        results = server.call("cstp.search", token, params).json["result"]["results"]
        return {(result["type"], result["snippet"]) for result in results}

    wait_until(lambda: {kind for kind, _ in found()} == {"chunk", "turn"})
