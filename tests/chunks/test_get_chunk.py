"""cstp.getChunk: the full chunk, clusters, related records, and limits of the caller's view."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cognition_engines.embedding.base import FloatArray
from cognition_engines.kinds.spec import Kind
from cognition_engines.queries import knowledge
from cognition_engines.store.values import Entry
from tests.kinds import entry
from tests.serving import DIM, SeededEmbedder, Serving, unit

Serve = Callable[..., Serving]

AXES = np.eye(DIM)


def chunk(id: str, vectors: FloatArray | None = None, **members: Any) -> Entry:
    return entry(Kind.CHUNK, id, vectors, **{"content": f"text of {id}", **members})


def at(angle: float) -> FloatArray:
    """Return a unit vector in a plane, at this angle in degrees from the first axis."""
    return unit(np.cos(np.radians(angle)) * AXES[0] + np.sin(np.radians(angle)) * AXES[1])


def related(result: Any) -> list[str]:
    return [each["chunkId"] for each in result["relatedChunks"]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the limit of each vector query."""
    limits: list[int] = []
    real = knowledge.semantic_leg

    def counted(*arguments: Any) -> Any:
        limits.append(arguments[3])
        return real(*arguments)

    monkeypatch.setattr(knowledge, "semantic_leg", counted)
    return limits


@pytest.mark.long("starts a server or a process of its own")
def test_a_chunk_without_a_title_or_an_author_has_those_of_its_source(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    source = entry(Kind.SOURCE, "s-1", title="The Book", authors=["Ana", "Bo"])
    serving.put([source, chunk("c-1", at(0), source_id="s-1", author="Own"), chunk("c-2", at(1), source_id="s-1")])
    serving.caught_up()
    first = serving.ask("getChunk", chunkId="c-1")
    assert (first["title"], first["author"]) == ("The Book", "Own")
    (other,) = first["relatedChunks"]
    assert (other["title"], other["author"]) == ("The Book", "Ana, Bo")


def test_an_unknown_id_is_not_found_with_the_id_and_a_hidden_chunk_is_unknown(serve: Serve) -> None:
    serving = serve()
    serving.put([chunk("c-1", sensitivity="sensitive", project="alpha"), entry(Kind.SOURCE, "s-1", title="Book")])
    strangers = [serving.token(), serving.token(clearance="sensitive", projects=["beta"])]
    for id, tokens in (("c-1", strangers), ("s-1", [None]), ("nope", [None]), ("a\0b", [None]), ("C-1", [None])):
        for token in tokens:
            error = serving.send("getChunk", token, chunkId=id)["error"]
            assert error == {"code": -32007, "message": "Not found", "data": {"id": id}}
    assert serving.ask("getChunk", serving.token(clearance="sensitive", projects=["alpha"]), chunkId="c-1")


@pytest.mark.long("starts a server or a process of its own")
def test_concurrent_calls_of_a_batch_share_its_room(serve: Serve) -> None:
    size, count = 900_000, 24
    serving = serve()
    serving.put([chunk("c-1", content="x" * size)])
    call = {"jsonrpc": "2.0", "method": "cstp.getChunk", "params": {"chunkId": "c-1", "includeRelated": False}}
    fields = {"Authorization": f"Bearer {serving.token()}", "Content-Type": "application/json"}
    batch = [call | {"id": number} for number in range(count)]
    replies = serving.client.post(serving.url, json=batch, headers=fields).json()
    answered = [one for one in replies if "result" in one]
    assert len(answered) == serving.settings.server.max_batch_answer_bytes // size
    failed = [one["error"]["data"]["component"] for one in replies if "error" in one]
    assert failed == ["answer"] * (count - len(answered))


@pytest.mark.long("starts a server or a process of its own")
def test_the_score_is_the_cosine_nearest_first_of_both_signs(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    angles = {"c-0": 0, "c-10": 10, "c-60": 60, "c-90": 90, "c-170": 170, "c-180": 180}
    serving.put([chunk(id, at(angle)) for id, angle in angles.items()])
    serving.caught_up()
    found = serving.ask("getChunk", chunkId="c-0", relatedLimit=20)["relatedChunks"]
    assert [each["chunkId"] for each in found] == ["c-10", "c-60", "c-90", "c-170", "c-180"]
    expected = [np.cos(np.radians(angle)) for angle in (10, 60, 90, 170, 180)]
    assert [each["similarityScore"] for each in found] == pytest.approx(expected, abs=2e-6)
    assert found[-1]["similarityScore"] == -1.0


@pytest.mark.long("starts a server or a process of its own")
def test_itself_is_never_related_and_a_duplicate_is(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    serving.put([chunk(id, at(0), content="the same") for id in ("c-b", "c-a", "c-c")])
    serving.caught_up()
    for id, others in (("c-a", ["c-b", "c-c"]), ("c-b", ["c-a", "c-c"]), ("c-c", ["c-a", "c-b"])):
        found = serving.ask("getChunk", chunkId=id)["relatedChunks"]
        assert [(each["chunkId"], each["similarityScore"]) for each in found] == [(other, 1.0) for other in others]


def test_exactly_the_limit_comes_back_when_more_exist_and_all_when_fewer_do(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    serving.put([chunk(f"c-{number:02}", at(number)) for number in range(12)])
    serving.caught_up()
    for limit, count in ((1, 1), (5, 5), (11, 11), (20, 11)):
        assert len(related(serving.ask("getChunk", chunkId="c-03", relatedLimit=limit))) == count
    assert len(related(serving.ask("getChunk", chunkId="c-03"))) == 5


def test_extractions_and_other_kinds_are_not_related_chunks(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    near = {"type": "pattern", "content": {"name": "N", "solution": "S"}}
    serving.put([entry(Kind.EXTRACTION, f"e-{number}", at(0), **near) for number in range(30)])
    serving.put([chunk("c-1", at(0)), chunk("c-2", at(90))])
    serving.caught_up()
    assert related(serving.ask("getChunk", chunkId="c-1")) == ["c-2"]


@pytest.mark.long("starts a server or a process of its own")
def test_a_snippet_is_the_first_200_characters(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    texts = {"c-1": "x", "c-2": "é" * 200, "c-3": "é" * 201}
    serving.put([chunk(id, at(10 * number), content=texts[id]) for number, id in enumerate(texts)])
    serving.caught_up()
    found = serving.ask("getChunk", chunkId="c-1")["relatedChunks"]
    assert [each["snippet"] for each in found] == ["é" * 200, "é" * 200 + "..."]


def test_no_vectors_are_asked_when_related_chunks_are_switched_off(serve: Serve, asked: list[int]) -> None:
    serving = serve(SeededEmbedder())
    serving.put([chunk(f"c-{number}", at(number)) for number in range(9)])
    serving.caught_up()
    before = serving.calls.count
    assert related(serving.ask("getChunk", chunkId="c-1", includeRelated=False)) == []
    assert (asked, serving.calls.count - before) == ([], 1)


def test_a_chunk_without_a_vector_is_answered_without_related_chunks(serve: Serve, asked: list[int]) -> None:
    serving = serve(SeededEmbedder(deaf=True))
    serving.put([chunk("c-1"), chunk("c-2", at(1)), chunk("c-3", at(2))])
    serving.caught_up()
    assert related(serving.ask("getChunk", chunkId="c-1")) == []
    assert asked == []
    # nor is it related to others
    assert related(serving.ask("getChunk", chunkId="c-2")) == ["c-3"]


def test_any_related_limit_makes_two_store_calls_and_one_vector_query(serve: Serve, asked: list[int]) -> None:
    serving = serve(SeededEmbedder())
    serving.put([entry(Kind.SOURCE, f"s-{number}", title=f"Book {number}") for number in range(40)])
    clusters = {"cluster_ids": ["k-1", "k-2", "k-3"]}
    serving.put([chunk(f"c-{number}", at(number), source_id=f"s-{number}", **clusters) for number in range(40)])
    serving.caught_up()
    for limit in (1, 5, 20):
        before, queries = serving.calls.count, len(asked)
        found = serving.ask("getChunk", chunkId="c-7", relatedLimit=limit)["relatedChunks"]
        assert len({each["title"] for each in found}) == limit
        assert (serving.calls.count - before, len(asked) - queries) == (2, 1)


def test_a_chunk_of_several_windows_is_compared_by_their_mean_and_found_by_the_best(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    serving.put(
        [
            chunk("c-two", unit([AXES[0], AXES[1]])),
            chunk("c-between", at(45)),
            chunk("c-either", unit([AXES[5], AXES[0]])),
            chunk("c-opposed", unit([AXES[2], -AXES[2]])),
            chunk("c-third", unit(AXES[2])),
        ]
    )
    serving.caught_up()
    found = serving.ask("getChunk", chunkId="c-two")["relatedChunks"]
    assert [(each["chunkId"], each["similarityScore"]) for each in found][:2] == [
        ("c-between", 1.0),
        ("c-either", pytest.approx(np.sqrt(0.5), abs=2e-6)),
    ]
    # windows cancelling each other out have no mean direction
    assert related(serving.ask("getChunk", chunkId="c-opposed", relatedLimit=1)) == ["c-third"]


def test_a_just_deleted_record_is_neither_read_nor_related(serve: Serve) -> None:
    serving = serve(SeededEmbedder())
    serving.put([chunk(f"c-{number:02}", at(number)) for number in range(10)])
    serving.caught_up()
    serving.records.delete(Kind.CHUNK, ["c-01", "c-03"])
    assert related(serving.ask("getChunk", chunkId="c-02", relatedLimit=3)) == ["c-00", "c-04", "c-05"]
    assert serving.send("getChunk", chunkId="c-01")["error"]["code"] == -32007
