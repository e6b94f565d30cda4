"""Additions by `include` to cstp.queryDecisions answers: snippets, links and provenance."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.ingest.options import Options, Silent
from cognition_engines.ingest.run import ingest
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.spaces import DECISIONS as DECISIONS_SPACE
from cognition_engines.store.values import Entry
from tests.serving import SeededEmbedder, Serving, serve, start
from tests.stored import models
from tests.stores import Stores, wait_for

__all__ = ["serve"]
MEMBERS = {"id", "title", "category", "confidence", "stakes", "status", "outcome", "date", "distance"}
MEMBERS |= {"origin", "recordedBy", "dateSource"}  # and not of the seed
EVERYTHING = ["snippet", "links", "provenance"]
ANSWER = "Two engineers on call already know how to restore it after an outage."
FILLER = "The office kitchen gets new chairs, a kettle and a plant. The plant needs water on Mondays and Thursdays. "
DECISIONS = {
    "0001-use-mysql.md": "# Use MySQL\n\n* Status: superseded by [2](0002-use-postgresql.md)\n* Date: 2024-01-01\n",
    "0002-use-postgresql.md": "# Use PostgreSQL\n\n* Status: Accepted (for now)\n* Date: 2024-02-01\n\n## Context\n\n"
    + f"{FILLER * 16}\n\n## Decision\n\n{ANSWER}\n\n## Consequences\n\n{FILLER * 16}\n",
    "0003-use-a-queue.md": "# Use a queue\n\n* Status: accepted\n* Date: 2024-03-01\n* Supersedes: 0004\n",
    "0004-poll-a-table.md": "# Poll a table\n\n* Status: superseded\n* Date: 2024-02-15\n",
}
ELSEWHERE = {
    "0002-paint.md": "# Paint the wall\n\n* Status: accepted\n* Date: 2024-01-01\n",
    "0005-leave.md": "# Leave the wall\n\n* Status: accepted\n* Date: 2024-01-02\n* Supersedes: 2\n",
}
RECORDS = (
    '{"id": "d-old", "title": "Keep sessions in files", "status": "accepted", "date": "2024-01-01"}\n'
    '{"id": "d-new", "title": "Keep sessions in a cache", "status": "accepted", "date": "2024-05-01",'
    ' "supersedes": ["d-old", "d-secret", "d-none"]}\n'
)
SECRET = (
    '{"id": "d-secret", "title": "Keep sessions in memory", "status": "accepted", "date": "2024-02-01",'
    ' "superseded_by": ["d-new"], "supersedes": ["d-old"]}\n'
)


@pytest.fixture(scope="module", params=["minilm", "none"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores
) -> Iterator[tuple[Serving, Path]]:
    """Start servers over the files above, with and without the model; yield them with the folder."""
    folder = tmp_path_factory.mktemp("repository") / "docs" / "adr"
    folder.mkdir(parents=True)
    (folder.parents[1] / ".git").mkdir()
    (other := folder.parent / "decisions").mkdir()
    for place, files in ((folder, {**DECISIONS, "sessions.jsonl": RECORDS}), (other, ELSEWHERE)):
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
    secret = folder.parent / "secret.jsonl"
    secret.write_text(SECRET, encoding="utf-8")
    embedder = open_embedder(EmbeddingChoice(request.param))
    serving, stop = start(tmp_path_factory.mktemp("data"), lasting_stores, embedder, None)
    read(serving, embedder, folder, Options(project="shop"))
    read(serving, embedder, other, Options(project="shop"))
    read(serving, embedder, secret, Options(project="shop", sensitivity=Sensitivity.HIGHLY_SENSITIVE))
    wait_for(lambda: all(index.snapshot.seq == serving.records.last_seq() for index in serving.indexes.all_spaces))
    yield serving, folder
    stop()


def read(serving: Serving, embedder: Embedder | None, path: Path, options: Options) -> None:
    ingest([path], options, serving.records, embedder, Silent(), 1)


@pytest.fixture
def titled(asked: tuple[Serving, Path]) -> Callable[..., Mapping[str, Any]]:
    """Return `titled("what is sought", token)`: found decisions, by title, with everything included."""

    def found(query: str, token: str | None = None, **params: Any) -> Mapping[str, Any]:
        serving, _ = asked
        decisions = serving.ask("queryDecisions", token, query=query, limit=50, **{"include": EVERYTHING, **params})
        return {one["title"]: one for one in decisions["decisions"]}

    return found


def ids(found: Mapping[str, Any], *titles: str) -> list[str]:
    return [found[title]["id"] for title in titles]


def has_model(asked: tuple[Serving, Path]) -> bool:
    serving, _ = asked
    return bool(models(serving.records))


ALL = "use postgresql mysql a queue poll table keep sessions in files cache memory"


def test_without_include_a_decision_has_the_usual_members_alone(asked: tuple[Serving, Path]) -> None:
    serving, _ = asked
    for nothing in ({}, {"include": []}, {"include": None}):
        for one in serving.ask("queryDecisions", query=ALL, **nothing)["decisions"]:
            assert set(one) == MEMBERS


@pytest.mark.parametrize("part", EVERYTHING)
def test_each_part_comes_exactly_when_it_is_included(asked: tuple[Serving, Path], part: str) -> None:
    serving, _ = asked
    found = serving.ask("queryDecisions", query=ALL, include=[part])["decisions"]
    assert found
    assert all(set(one) == {*MEMBERS, part} for one in found)


@pytest.mark.parametrize(
    "wrong", [["snippet", "snippet"], ["text"], "snippet", [None], [["links"]], {"links": True}], ids=str
)
def test_unknown_or_repeated_parts_are_refused(asked: tuple[Serving, Path], wrong: Any) -> None:
    serving, _ = asked
    (field,) = serving.refused("queryDecisions", query=ALL, include=wrong)
    assert field.startswith("include")


def test_a_snippet_fits_the_query(asked: tuple[Serving, Path], titled: Callable[..., Mapping[str, Any]]) -> None:
    serving, _ = asked
    if has_model(asked):
        # no word of it is in the answer
        found = titled("who has experience with disaster recovery")["Use PostgreSQL"]
    else:
        found = titled("postgresql engineers restore outage")["Use PostgreSQL"]
    snippet = found["snippet"]
    assert ANSWER in snippet
    assert len(snippet) <= 600
    whole = serving.ask("recall", id=found["id"])["results"][0]["content"]
    assert snippet in whole
    assert len(whole) > 3000


def test_by_keywords_a_snippet_is_of_the_sentences_with_the_words(titled: Callable[..., Mapping[str, Any]]) -> None:
    snippet = titled("postgresql outage", mode="keyword")["Use PostgreSQL"]["snippet"]
    assert ANSWER in snippet
    assert len(snippet) <= 600


def test_lines_about_status_alone_are_no_snippet(titled: Callable[..., Mapping[str, Any]]) -> None:
    found = titled(ALL)
    assert [found[title]["snippet"] for title in ("Keep sessions in files", "Poll a table")] == ["", ""]


def test_links_name_both_directions_of_supersession(titled: Callable[..., Mapping[str, Any]]) -> None:
    found = titled(ALL)
    links = {title: one["links"] for title, one in found.items()}
    assert links["Use MySQL"] == {"supersedes": [], "supersededBy": ids(found, "Use PostgreSQL")}
    assert links["Use PostgreSQL"] == {"supersedes": ids(found, "Use MySQL"), "supersededBy": []}
    assert links["Use a queue"] == {"supersedes": ids(found, "Poll a table"), "supersededBy": []}
    assert links["Poll a table"] == {"supersedes": [], "supersededBy": ids(found, "Use a queue")}


def test_a_number_means_a_file_of_the_same_folder(titled: Callable[..., Mapping[str, Any]]) -> None:
    found = titled("wall postgresql mysql")
    assert found["Leave the wall"]["links"]["supersedes"] == ids(found, "Paint the wall")
    assert found["Use PostgreSQL"]["links"]["supersededBy"] == []


def test_provenance_names_the_file(asked: tuple[Serving, Path], titled: Callable[..., Mapping[str, Any]]) -> None:
    _, folder = asked
    found = titled(ALL)
    provenance = found["Use PostgreSQL"]["provenance"]
    assert provenance["project"] == "shop"
    assert provenance["statusText"] == "Accepted (for now)"
    assert provenance["path"] == "docs/adr/0002-use-postgresql.md"
    assert found["Keep sessions in a cache"]["provenance"]["path"] == "docs/adr/sessions.jsonl"
    assert str(folder) not in json.dumps(found)


@pytest.mark.long("makes many records")
def test_provenance_of_a_file_outside_repositories_is_its_name(serve: Callable[..., Serving]) -> None:
    server = serve()
    origin = Origin("/home/somebody/notes.jsonl", 0, None, "digest")
    server.records.put([Entry(Decision("a", "Keep a queue"), origin)], None)
    server.caught_up()
    (found,) = server.ask("queryDecisions", query="queue", include=["provenance"])["decisions"]
    assert found["provenance"]["path"] == "notes.jsonl"


class Thirds(SeededEmbedder):
    """Three windows per text, with the vectors of "part 0" to "part 2"; counts texts it is asked to cut."""

    asked_for: ClassVar[list[int]] = []

    def embed_text(self, text: str) -> FloatArray:
        return np.stack([self.embed_query(f"part {number}") for number in range(3)])

    def windows(self, text: str) -> int:
        return 3

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        self.asked_for.append(len(text))
        third = len(text) // 3
        return [(number * third, (number + 1) * third) for number in range(3)]


def test_links_name_a_successor_by_an_agent_once_its_supersession_is_in_effect(serve: Callable[..., Serving]) -> None:
    serving = serve()
    agent = serving.token(scopes=("read", "write", "review", "ratify"))

    def links(id: str, seq: int) -> tuple[list[str], list[str]]:
        found = serving.ask("queryDecisions", agent, query="Bake", include=["links"], minSeq=seq)["decisions"]
        (shown,) = (one["links"] for one in found if one["id"] == id)
        return shown["supersedes"], shown["supersededBy"]

    old = serving.ask("recordDecision", agent, decision="Bake rye", confidence=0.5)["id"]
    serving.ask("setStatus", agent, id=old, status="accepted", reason="Agreed.")
    made = serving.ask("recordDecision", agent, decision="Bake wheat", confidence=0.5, supersedes=[old])
    assert [links(old, made["seq"]), links(made["id"], made["seq"])] == [([], []), ([], [])]
    seq = serving.ask("setStatus", agent, id=made["id"], status="accepted", reason="Agreed.")["seq"]
    assert [links(old, seq), links(made["id"], seq)] == [([], [made["id"]]), ([old], [])]


@pytest.mark.long("makes many records")
def test_snippets_are_bounded_and_from_the_best_window(tmp_path: Path, serve: Callable[..., Serving]) -> None:
    texts = ["\n\n".join(f"This is section {place} of one." for place in range(2000)) for _ in range(12)]
    lines = [
        {"id": f"d{number}", "title": f"Choice {number}", "status": "accepted", "text": text}
        for number, text in enumerate(texts)
    ]
    (tmp_path / "decisions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    embedder = Thirds()
    serving = serve(embedder)
    read(serving, embedder, tmp_path / "decisions.jsonl", Options())
    wait_for(lambda: serving.indexes[DECISIONS_SPACE].snapshot.seq == serving.records.last_seq())
    for part, sections in ((0, range(0, 800)), (2, range(1200, 2000))):
        Thirds.asked_for.clear()
        found = serving.ask("queryDecisions", query=f"part {part}", mode="semantic", limit=12, include=["snippet"])
        assert len(found["decisions"]) == 12
        for one in found["decisions"]:
            shown = {int(number) for number in re.findall(r"section (\d+)", one["snippet"])}
            assert shown
            assert shown <= set(sections)
        assert sum(Thirds.asked_for) <= 200_000
        assert Thirds.asked_for or part  # the places of windows are cached


def test_an_explanation_has_the_scores_and_places_of_the_legs(asked: tuple[Serving, Path]) -> None:
    serving, _ = asked
    model = has_model(asked)
    modes = ("hybrid", "semantic", "keyword") if model else ("keyword",)
    for mode in modes:
        params = {"query": "use postgresql before", "mode": mode, "limit": 50}  # of the past: no successor is moved
        plain = serving.ask("queryDecisions", **params)["decisions"]
        found = serving.ask("queryDecisions", **params, explain=True)["decisions"]
        assert [one["id"] for one in found] == [one["id"] for one in plain], "it changes nothing else"
        reasons = [one["explain"] for one in found]
        for leg in ("semantic", "keyword"):
            places = [one["ranks"][leg] for one in reasons if one["ranks"][leg] is not None]
            assert len(set(places)) == len(places)
            assert (places == [*range(1, len(found) + 1)]) is (mode == leg)
        ranked = [one["score"] for one in reasons]
        assert ranked == sorted(ranked, reverse=True)
        best = sorted((one for one in reasons if one["ranks"]["keyword"]), key=lambda one: one["ranks"]["keyword"])
        scores = [one["bm25"] for one in best]
        assert scores == sorted(scores, reverse=True)
        assert all((one["bm25"] is None) is (mode == "semantic") for one in reasons)
        for one in found:
            cosine = one["explain"]["cosine"]
            assert cosine is None if one["distance"] is None else abs(1 - cosine - one["distance"]) < 1e-5
            assert (one["explain"]["matchedWindow"] is not None) is (mode != "keyword" and cosine is not None)
