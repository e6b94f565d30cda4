"""The sample loaded by the demo: every record is valid, and all references resolve."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.extractions import EXTRACTION_TYPES
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.registry import validate_record
from cognition_engines.kinds.spec import KINDS, Kind

SAMPLE = Path(__file__).parents[2] / "docs" / "sample"
FILES = sorted(SAMPLE.glob("*.jsonl"))


def members() -> Iterator[dict[str, Any]]:
    for file in FILES:
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def records(kind: Kind) -> list[Any]:
    """Return a kind's records, validated."""
    found = [one for one in members() if KINDS[one["kind"]] is kind]
    return [validate_record(kind, {name: value for name, value in one.items() if name != "kind"}) for one in found]


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.DECISION, Kind.ARTIFACT_CHUNK)])
def test_every_kind_but_document_parts_is_in_the_sample(kind: Kind) -> None:
    assert records(kind)


def test_every_line_is_in_a_file_described_by_the_page() -> None:
    page = (SAMPLE / "README.md").read_text(encoding="utf-8")
    assert all(f"`{file.name}`" in page for file in FILES)
    assert sum(len(records(kind)) for kind in Kind if kind is not Kind.DECISION) == len(list(members()))


def test_every_type_of_extraction_is_in_the_sample() -> None:
    assert {one.type for one in records(Kind.EXTRACTION)} == set(EXTRACTION_TYPES)


def test_episodes_include_successes_and_failures_and_nearly_all_have_reasons() -> None:
    episodes = records(Kind.EPISODE)
    assert 10 <= len(episodes) <= 20
    assert min(one.reward for one in episodes) == -1
    assert max(one.reward for one in episodes) == 1
    assert all(one.reflection for one in episodes)


def test_the_conversation_is_whole() -> None:
    turns = records(Kind.TURN)
    assert {one.conversation_id for one in turns} == {"slow-filters"}
    assert [one.turn_index for one in turns] == list(range(len(turns)))
    assert 12 <= len(turns) <= 20
    assert sorted(turns, key=lambda one: (one.ts, one.turn_index)) == turns


def test_the_evidence_of_every_event_is_at_its_stated_place() -> None:
    artifacts = {one.id: one.content for one in records(Kind.ARTIFACT)}
    for event in records(Kind.EVENT):
        assert event.evidence
        for found in event.evidence:
            assert artifacts[event.artifact_id][found.start_char : found.end_char] == found.quote


def test_everything_referred_to_is_in_the_sample() -> None:
    ids = {kind: {one.id for one in records(kind)} for kind in Kind if kind is not Kind.DECISION}
    for one in [*records(Kind.CHUNK), *records(Kind.EXTRACTION)]:
        assert one.source_id in ids[Kind.SOURCE]
    for one in records(Kind.CHUNK):
        assert set(one.cluster_ids) <= ids[Kind.CLUSTER]
    assert {one.chunk_id for one in records(Kind.EXTRACTION)} <= ids[Kind.CHUNK]
    for one in records(Kind.EDGE):
        assert {one.source_id, one.target_id} <= ids[Kind.ENTITY]
        assert one.artifact_id is None or one.artifact_id in ids[Kind.ARTIFACT]
    entities = records(Kind.ENTITY)
    names = {normal(name) for one in entities for name in (one.id, one.name, *one.aliases)}
    for event in records(Kind.EVENT):
        assert {normal(actor.ref) for actor in event.actors} <= names
        assert event.subject is None or normal(event.subject.ref) in names


def test_the_sizes_of_clusters_are_true() -> None:
    chunks = records(Kind.CHUNK)
    for cluster in records(Kind.CLUSTER):
        assert cluster.size == sum(cluster.id in chunk.cluster_ids for chunk in chunks)
    assert {chunk.total_chunks for chunk in chunks} == {len(chunks)}
