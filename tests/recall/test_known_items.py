"""Known items: the only record with an id, a version, a symbol, a path or a quoted phrase of the query comes first."""

from collections.abc import Callable
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.search.query import MOST_ITEMS, read_items
from cognition_engines.search.signals.known_items import MOST_FILTERED, MOST_HOLDERS
from tests.kinds import entry

MODES = ("hybrid", "semantic", "keyword")
MEMBER = {"queryDecisions": "decisions", "search": "results", "recall": "results"}
LONG = "/".join(f"part{number}" for number in range(40)) + ".py"  # longer than an item may be
OTHERS = "the crane brake and the crane timeout of the harbour desk, which we decided about"
HYPHENATED = "well-known long-standing hard-won half-built far-off low-lying short-lived re-used all-round"
LOG = "2026-11-28T05:14:23Z host-3 app-12 pid:4711 read-only mail@x.org /var/log/gate.log v1.2 AL-5577"
QUOTES = ["“”", "„“", "””", "‹›", "»«", "«»", "「」", "『』", "‘’", "‚‘"]
ITEMS = {
    "ticket": "Paint was ordered with QD-4711.",
    "longer-ticket": "Rope was ordered with QD-47110.",
    "version": "Fog lights need libquay 2.14.3 at least.",
    "code": "A stuck anchor gives E1003 on the bridge.",
    "symbol": "Sails are set by fetchTideTable each noon.",
    "path": "Maps lie under tides/reader.py these days.",
    "long-path": f"Tides lie under {LONG} as well.",
    "phrase": "They berth by moonlight only on Sundays.",
    "broken": "A **slow** boat\n    can’t be late “in fog” – by NB\u20114711.",
    "reset": "Clients get an ECONNRESET at low water.",
    "numbered": "Databases are explained by 0007-use-postgres alone.",
    "dock": "Docks need libdock 5.14.3 by now.",
    "moorings": "Buoys are drawn in docs/moorings.md in red.",
    "gauge": "Tides are asked from 10.9.8.7 hourly.",
    "rig": "Masts are held by RG-12-A since May.",
    "words-of-the-phrase": "By moonlight only, on Sundays, they berth.",
}
ARTIFACTS = {
    "drum": "The winch drum got another rope WN-40-Q.",
    "winch": "winch drum rope new winch",
    "buoy": "Minutes of Monday.",
    "crew": "buoy crew replaced the anchor",
}
EVENTS = {
    "sails": ["SL-12-K was torn."],
    "drum": ["Rope WN-40-Q was wound up.", "WN-40-Q was oiled."],
    "winch": ["winch drum rope new winch WN-40"],
    "buoy": ["The anchor EV-991-Z was replaced."],
    "crew": ["buoy crew replaced the anchor EV-991"],
}


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    entries = [entry(Kind.DECISION, f"other-{number:02d}", title=OTHERS, text=OTHERS) for number in range(30)]
    entries += [entry(Kind.DECISION, name, title="Note", text=text) for name, text in ITEMS.items()]
    twice = ("first of two", "second of two")
    entries += [entry(Kind.ARTIFACT, name, content=text) for name, text in ARTIFACTS.items()]
    entries += [
        entry(Kind.ARTIFACT, "sails", content="Sails.", chunked=True),
        entry(Kind.ARTIFACT_CHUNK, "sails-0", artifact_id="art_sails", content="The jib is SL-12-K."),
    ]
    entries += [
        entry(Kind.EVENT, f"of-{owner}-{number}", category="work", narrative=text, artifact_id=f"art_{owner}")
        for owner, texts in EVENTS.items()
        for number, text in enumerate(texts)
    ]
    entries += [entry(Kind.DECISION, name.replace(" ", "-"), title="Note", text=f"{name}: E2002") for name in twice]
    return remembering(entries, search={"least_cosine": 0.99})


def found(memory: Any, method: str, query: str, **params: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = memory.ask(method, query=query, explain=True, limit=10, **params)[MEMBER[method]]
    return listed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", list(MEMBER))
@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("QD-4711", "ticket"),
        ("AB-1 AB-2 AB-3 AB-4 QD-4711", "ticket"),
        (f'{HYPHENATED} "berth by moonlight only on Sundays"', "phrase"),
        ("qd-4711", "ticket"),
        ("2.14.3", "version"),
        ("E1003", "code"),
        ("fetchTideTable", "symbol"),
        ("tides/reader.py", "path"),
        ('"berth by moonlight only on Sundays"', "phrase"),
        *((f"{one}berth by moonlight only on Sundays{other}", "phrase") for one, other in QUOTES),
        ('"= berth by moonlight only"', "phrase"),
        ('"a slow boat can\'t be late"', "broken"),
        ("‘slow boat can’t be late’", "broken"),
        ("NB-4711", "broken"),
        ("connection lost ECONNRESET", "reset"),
        ("0007-use-postgres", "numbered"),
        ("libdock@5.14.3", "dock"),
        ("libdock-v5.14.3", "dock"),
        ("v5.14.3", "dock"),
        ("./docs/moorings.md:12", "moorings"),
        ("10.9.8.7:80", "gauge"),
        ("RG-12-A's", "rig"),
        ("RG\u201112\u2011A’s", "rig"),
        ("other-07", "other-07"),
        ("longer-ticket", "longer-ticket"),
    ],
)
def test_the_only_record_with_an_item_comes_first(memory: Any, method: str, mode: str, item: str, name: str) -> None:
    first, second, *_ = found(memory, method, f"what was decided about {item} for {OTHERS}", mode=mode)
    assert (first["id"], first["explain"]["boosts"]["exact"]) == (name, True)
    assert first["explain"]["score"] > second["explain"]["score"]
    assert "exact" not in second["explain"]["boosts"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("method", "query", "name"),
    [
        ("search", "winch drum rope new winch WN-40-Q", "art_drum"),
        ("recall", "winch drum rope new winch WN-40-Q", "art_drum"),
        ("search", f"SL-12-K of {OTHERS}", "art_sails"),
        ("recall", f"SL-12-K of {OTHERS}", "sails-0"),
        ("search", "buoy crew replaced the anchor EV-991-Z", "evt_of-buoy-0"),
        ("recall", "buoy crew replaced the anchor EV-991-Z", "art_buoy"),
    ],
)
def test_an_artifact_and_its_events_are_one_record(memory: Any, method: str, query: str, name: str, mode: str) -> None:
    first, second, *_ = found(memory, method, query, mode=mode)
    assert (first["id"], first["explain"]["boosts"]["exact"]) == (name, True)
    assert first["explain"]["score"] > second["explain"]["score"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "item",
    ["E2002", "E9999", LONG, "24/7", "10:30pm", "20th", '"sails\'s"', "20-year-old", "2024-02-13", '"a crane"', "e.g."],
)
def test_no_record_is_put_first_if_several_or_none_have_the_item(memory: Any, mode: str, item: str) -> None:
    results = found(memory, "queryDecisions", f"{item} of {OTHERS}", mode=mode)
    assert not any("exact" in one["explain"]["boosts"] for one in results)


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_decides_the_only_record(memory: Any, mode: str) -> None:
    memory.put([entry(Kind.DECISION, "tagged", title="Note", text="Also E1003.", tags=["anchor"])])
    query = f"E1003 of {OTHERS}"
    assert not any("exact" in one["explain"]["boosts"] for one in found(memory, "queryDecisions", query, mode=mode))
    (one,) = found(memory, "queryDecisions", query, mode=mode, filters={"tags": ["anchor"]})
    assert (one["id"], one["explain"]["boosts"]["exact"]) == ("tagged", True)


@pytest.mark.parametrize("mode", MODES)
def test_an_item_left_to_one_record_by_a_filter_is_found_behind_many(memory: Any, mode: str) -> None:
    many = [("alpha", f"gear-{number:02d}") for number in range(MOST_HOLDERS + 8)] + [("beta", "gear-x")]
    memory.put(
        [entry(Kind.DECISION, name, title="Note", text="Gearbox GB-70.1", project=project) for project, name in many]
        + [entry(Kind.DECISION, "oiled", title="Note", text="Gearbox oiled on the pier", project="beta")]
    )
    query = "gearbox oiled on the pier GB-70.1"
    first, second = found(memory, "queryDecisions", query, mode=mode, filters={"project": "beta"})
    assert (first["id"], first["explain"]["boosts"]["exact"], second["id"]) == ("gear-x", True, "oiled")
    everything = found(memory, "queryDecisions", query, mode=mode)
    assert not any("exact" in one["explain"]["boosts"] for one in everything)


@pytest.mark.long("stores as many records as are examined")
def test_no_record_is_the_only_one_beyond_the_examined_records(memory: Any) -> None:
    texts = [("alpha", f"mast-{number:04d}") for number in range(MOST_FILTERED)] + [("beta", "mast-x")]
    memory.put([entry(Kind.DECISION, id, title="Note", text="MK-80.2", project=project) for project, id in texts])
    (one,) = found(memory, "queryDecisions", "mast MK-80.2", mode="keyword", filters={"project": "beta"})
    assert (one["id"], "exact" in one["explain"]["boosts"]) == ("mast-x", False)


def test_quotations_and_exact_pieces_come_before_possible_ids_and_count_once() -> None:
    assert "AL-5577" in read_items(LOG)
    codes = [f"AB-{number}" for number in range(MOST_ITEMS)]
    assert set(read_items(" ".join(codes))) == {*codes, *(f"={code.lower()}" for code in codes)}
    assert read_items(f'{" ".join(codes)} "by moonlight"')[0] == "by moonlight"


def test_a_query_in_capitals_names_no_codes() -> None:
    assert read_items("LOST CONNECTION WITH QD-4711") == ("QD-4711", "=qd-4711")
    assert read_items("ECONNRESET")[0] == "ECONNRESET"


def test_a_record_hidden_from_the_caller_neither_comes_first_nor_hides_another(memory: Any) -> None:
    memory.put([entry(Kind.DECISION, "secret", title="Note", text="2.14.3", sensitivity=Sensitivity.HIGHLY_SENSITIVE)])
    token = memory.token(clearance="normal")
    first = found(memory, "queryDecisions", f"2.14.3 of {OTHERS}", token=token)[0]
    assert (first["id"], first["explain"]["boosts"]["exact"]) == ("version", True)


def test_a_known_item_is_no_question_without_an_answer(memory: Any) -> None:
    assert memory.ask("queryDecisions", query="oranges", mode="semantic", abstain=True)["noGoodMatch"]
    answer = memory.ask("queryDecisions", query="QD-4711", mode="semantic", abstain=True)
    assert answer["decisions"][0]["id"] == "ticket"
