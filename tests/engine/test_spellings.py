"""Labels are compared in a normalized Unicode form and shown as written."""

import json
from collections.abc import Iterator
from unicodedata import normalize

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Decision
from cognition_engines.sync_engine import SyncEngine
from cstp.values.decision_searches import QueryDecisionsParams, QueryFilters
from cstp.values.episodes import ListEpisodesParams
from cstp.values.recall import RecallParams

LABEL = "Prüfstände"
FORMS = ("NFC", "NFD")


def lines() -> Iterator[dict[str, object]]:
    for form in FORMS:
        label, content = normalize(form, LABEL), "Lamps on the quay"
        yield {"kind": "decision", "id": f"d-{form}", "title": content, "tags": [label], "category": label}
        yield {"kind": "artifact", "id": f"a-{form}", "title": content, "content": content, "source_system": label}
        yield {"kind": "episode", "query": form, "reward": 0.5, "tags": [label], "category": label}
    yield {"kind": "decision", "id": "other", "title": "Lamps", "tags": ["Prufstande"]}
    yield {"kind": "entity", "id": "person", "name": normalize("NFC", "Zoë Müller"), "type": "person"}
    yield {
        "kind": "turn",
        "conversation_id": "c",
        "turn_index": 0,
        "speaker": normalize("NFD", "Zoë Müller"),
        "content": "The lamps",
    }


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncEngine]:
    folder = tmp_path_factory.mktemp("spellings")
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, lines())), encoding="utf-8")
    with SyncEngine.open(f"sqlite:///{folder}/store.db", folder / "indexes", None) as opened:
        assert not opened.ingest([folder / "records.jsonl"]).rejected
        yield opened


@pytest.mark.parametrize("form", FORMS)
def test_filters_find_a_label_in_any_written_form(engine: SyncEngine, form: str) -> None:
    label = normalize(form, LABEL)
    for filters in (QueryFilters(tags=[label]), QueryFilters(category=label.upper())):
        asked = QueryDecisionsParams(query="lamps", filters=filters)
        assert {one.id for one in engine.query_decisions(asked, EVERYTHING).decisions} == {"d-NFC", "d-NFD"}
    for episodes in (ListEpisodesParams(tags=[label]), ListEpisodesParams(category=label)):
        assert {one.query for one in engine.list_episodes(episodes, EVERYTHING).episodes} == {*FORMS}
    recalled = engine.recall(RecallParams(query="lamps", source=label), EVERYTHING)
    assert {one.id for one in recalled.results} == {"art_a-NFC", "art_a-NFD"}


def test_labels_are_shown_as_written(engine: SyncEngine) -> None:
    asked = QueryDecisionsParams(query="lamps", filters=QueryFilters(tags=[LABEL]))
    found = [(Kind.DECISION, one.id) for one in engine.query_decisions(asked, EVERYTHING).decisions]
    stored = [one.record for one in engine.engine.records.reads.find(found, None)]
    tags = {one.tags for one in stored if isinstance(one, Decision)}
    assert tags == {(normalize(form, LABEL),) for form in FORMS}


def test_a_speaker_is_the_entity_with_the_same_normalized_name(engine: SyncEngine) -> None:
    recalled = engine.recall(RecallParams(query="lamps", mode="keyword"), EVERYTHING)
    assert [entity.id for entity in recalled.entities] == ["person"]


def test_a_record_is_found_by_its_id_in_any_case(engine: SyncEngine) -> None:
    for id in ("d-NFC", "d-nfd"):
        found = engine.query_decisions(id, EVERYTHING).decisions
        assert found[0].id.lower() == id.lower()
    assert engine.query_decisions("d-none", EVERYTHING).decisions == []
