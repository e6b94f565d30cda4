"""Origins of hits, and whether a found decision is still in force."""

from collections.abc import Callable
from typing import Any

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry
from tests.serving import Serving

Serve = Callable[..., Serving]
PLACE = {"source": "/ci/kilns.jsonl", "ordinal": 0, "ingestedAs": None, "repository": "kilns", "path": "kilns.jsonl"}


def made_by(hits: list[dict[str, Any]]) -> set[tuple[str, str | None]]:
    return {(one["origin"], one["recordedBy"]) for one in hits}


def test_every_hit_names_its_origin_file_agent_or_import_and_the_agent(serve: Serve) -> None:
    serving = serve()
    ada = serving.ask("whoami")["agent"]
    serving.put(
        [
            entry(Kind.DECISION, "kiln", title="Fire the kiln", text="Twice a week."),
            entry(Kind.CHUNK, "kiln", content="A kiln is hot.", chunk_index=0, total_chunks=1),
            entry(Kind.EPISODE, 7, query="Fire the kiln", reward=0.5, reflection="Wait."),
            entry(Kind.ARTIFACT, "kiln", content="The kiln cracked.", context="note", source_system="manual"),
        ]
    )
    serving.ask("recordDecision", decision="Fire the kiln on Mondays", confidence=0.5)
    serving.ask("storeEpisode", query="Clean the kiln", reward=0.5, reflection="Brush it.")
    serving.ask("remember", content="The kiln is clean.", source="wiki", sourceId="kiln")
    serving.ask("storeKnowledge", records=[{"kind": "chunk", "content": "Kiln bricks are heavy."}])
    put = {"kind": "chunk", "record": {"id": "chk_put", "content": "Kiln doors are heavy.", "sensitivity": "normal"}}
    origin = {**PLACE, "identity": "0" * 31 + "1"}
    put |= {"origin": origin, "updatedAt": "2026-01-01T00:00:00Z", "digest": "0" * 32 + ".00000000"}
    serving.ask("putRecords", records=[put])
    serving.caught_up()
    both = {("file", None), ("agent", ada)}
    assert made_by(serving.ask("search", query="kiln", limit=50)["results"]) == {*both, ("import", ada)}
    assert made_by(serving.ask("queryDecisions", query="kiln")["decisions"]) == both
    assert made_by(serving.ask("findEpisodes", query="kiln")["episodes"]) == both
    assert made_by(serving.ask("searchKnowledge", query="kiln")["results"]) == {*both, ("import", ada)}
    assert made_by(serving.ask("recall", query="kiln")["results"]) >= both
    assert made_by(serving.ask("recall", context="note")["results"]) == both


def test_a_search_shows_rejected_and_superseded_decisions_and_their_visible_successors(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            entry(Kind.DECISION, "wood", title="Heat the kiln with wood", status="accepted"),
            entry(Kind.DECISION, "gas", title="Heat the kiln with gas", status="accepted", supersedes=("wood",)),
            entry(Kind.DECISION, "coal", title="Heat the kiln with coal", status="rejected"),
            entry(Kind.DECISION, "sun", title="Heat the kiln with the sun", status="proposed", supersedes=("gas",)),
            entry(Kind.DECISION, "oil", title="Heat the kiln with oil", sensitivity=1, supersedes=("wood",)),
            entry(Kind.CHUNK, "kiln", content="A kiln is hot.", chunk_index=0, total_chunks=1),
        ]
    )
    serving.caught_up()

    def found(token: str | None) -> dict[str, tuple[str | None, list[str]]]:
        results = serving.ask("search", token, query="kiln")["results"]
        return {one["id"]: (one["status"], one["supersededBy"]) for one in results}

    whole = {id: serving.ask("getDecision", serving.token(), id=id)["decision"] for id in ("wood", "gas")}
    assert (whole["wood"]["supersededBy"], whole["wood"]["supersedes"]) == (["gas"], [])
    assert (whole["gas"]["supersededBy"], whole["gas"]["supersedes"]) == (["sun"], ["wood"])
    shown = {"wood": ("superseded", ["gas"]), "gas": ("accepted", []), "coal": ("rejected", []), "kiln": (None, [])}
    shown |= {"sun": ("proposed", [])}  # replaces nothing yet
    assert found(serving.token(clearance="normal")) == shown
    assert found(None) == shown | {"wood": ("superseded", ["gas", "oil"]), "oil": (None, [])}
