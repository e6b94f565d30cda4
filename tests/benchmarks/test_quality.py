"""Input and output of the quality benchmark, and a run over small sets."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.quality.abstaining import Folders, measure_abstaining
from benchmarks.quality.answering import Model
from benchmarks.quality.beir import read_collection, write_chunks
from benchmarks.quality.conversations import read_beam
from benchmarks.quality.gains import plain_bm25
from benchmarks.quality.known_item import judge, read_items, without
from benchmarks.texts import UnknownShape

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    {"_id": "17", "title": "Tides", "text": "The moon pulls at the sea, which rises twice a day."},
    {"_id": "18", "title": "Bread", "text": "Dough rises when yeast makes gas in it."},
    {"_id": "19", "title": "", "text": "Basalt cools into columns."},
]


def _beir(folder: Path, judged: str = "q1\t17\t1\n") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    queries = [{"_id": "q1", "text": "why does the sea rise"}, {"_id": "q2", "text": "not judged"}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


def test_a_collection_has_the_judged_queries_alone(tmp_path: Path) -> None:
    collection = read_collection(_beir(tmp_path))
    assert collection.queries == {"q1": "why does the sea rise"}
    assert collection.judgements == {"q1": {"17": 1}}
    write_chunks(collection, tmp_path / "chunks.jsonl")
    chunks = [json.loads(line) for line in (tmp_path / "chunks.jsonl").read_text().splitlines()]
    assert chunks[0] == {"kind": "chunk", "id": "17", "title": "Tides", "content": DOCUMENTS[0]["text"]}
    assert chunks[2] == {"kind": "chunk", "id": "19", "content": "Basalt cools into columns."}


@pytest.mark.parametrize("judged", ["q1\tmissing\t1\n", "missing\t17\t1\n"])
def test_a_judgement_of_a_missing_item_is_refused(tmp_path: Path, judged: str) -> None:
    with pytest.raises(UnknownShape, match="such as missing"):
        read_collection(_beir(tmp_path, judged))


def test_a_folder_of_another_shape_is_refused_with_its_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UnknownShape, match=r"corpus\.jsonl: there is no such file"):
        read_collection(tmp_path)
    (tmp_path / "corpus.jsonl").write_text("[1]\n")
    with pytest.raises(UnknownShape, match=r"corpus\.jsonl:1: must be an object"):
        read_collection(tmp_path)


def _beam(folder: Path) -> Path:
    said = [("user", "The oven burns bread. ->-> 1,1"), ("assistant", "Lower its heat."), ("user", "Now it is pale.")]
    turns = [{"role": role, "id": number, "content": content} for number, (role, content) in enumerate(said)]
    turns[0]["time_anchor"] = "March-15-2024"
    questions = {
        "temporal_reasoning": [
            {"question": "When did it burn?", "source_chat_ids": {"first_event": [0], "second": [2]}}
        ],
        "abstention": [{"question": "Who bought it?"}],
    }
    (folder / "7" / "probing_questions").mkdir(parents=True)
    (folder / "7" / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": [turns[:2], turns[2:]]}]))
    (folder / "7" / "probing_questions" / "probing_questions.json").write_text(json.dumps(questions))
    return folder


def test_a_chat_has_its_messages_and_the_questions_with_evidence(tmp_path: Path) -> None:
    found = read_beam(_beam(tmp_path))
    assert [turn.content for turn in found.turns] == ["The oven burns bread.", "Lower its heat.", "Now it is pale."]
    assert [turn.ts for turn in found.turns] == [f"2024-03-15T00:00:0{second}" for second in range(3)]
    (question,) = found.questions
    assert (question.query, question.evidence) == ("When did it burn?", {"chat-7:0": 1, "chat-7:2": 1})
    with pytest.raises(UnknownShape, match="no chat has questions"):
        read_beam(tmp_path / "7")


def test_plain_bm25_ranks_by_rare_words() -> None:
    search = plain_bm25({"a": "the oven and the bread", "b": "the bread", "c": "the heat"})
    assert list(search("What of the bread (oven)?"))[:2] == ["a", "b"]


def test_a_title_is_removed_from_a_text_wherever_it_stands() -> None:
    assert without("Use HTTP/2 (now)", "We use\nhttp/2 (now). Reuse it.").split() == ["We", ".", "Reuse", "it."]
    assert without("Log", "Logs and a log").split() == ["Logs", "and", "a"]


def test_items_with_equal_titles_are_all_relevant(tmp_path: Path) -> None:
    for name in ("a", "b"):
        text = f"# Keep a record\n\n## Status\n\nAccepted\n\n## Decision\n\nKeep a record of {name}, it says.\n"
        (tmp_path / f"{name}.md").write_text(text)
    items = read_items(tmp_path)
    assert [item.query for item in items] == ["Keep a record"] * 2
    assert all(
        "Keep a record" not in item.text and f"of {name}," in item.text for item, name in zip(items, "ab", strict=True)
    )
    assert judge(items)["item-00001"] == {"item-00001": 1, "item-00002": 1}


def test_refusals_are_measured_at_the_bound_answering_nearly_all(tmp_path: Path) -> None:
    decisions, talk = tmp_path / "decisions", tmp_path / "talk"
    decisions.mkdir()
    (decisions / "a.md").write_text("# Keep a ledger\n\n## Status\n\nAccepted\n\n## Decision\n\nThe ledger is kept.\n")
    talk.mkdir()
    said = [
        {"conversation_id": id, "dia_id": "D1:1", "session": 1, "turn_index": 0, "speaker": "Ana", "content": content}
        | {"blip_caption": None, "ts": None}
        for id, content in (("c1", "The harbour keys are in the blue tin."), ("c2", "My sister sings in a choir."))
    ]
    asked = [
        {"qid": qid, "conversation_id": id, "question": question, "category": category, "evidence": ["D1:1"]}
        for qid, id, question, category in (
            ("q1", "c1", "Where are the harbour keys?", 4),
            ("q2", "c2", "Who sings in a choir?", 4),
            ("q3", "c2", "Why is the orbit of Mercury odd?", 5),
        )
    ]
    for name, lines in (("turns", said), ("questions", asked)):
        (talk / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    folders = Folders(decisions, _beir(tmp_path / "sea"), talk)
    (section,) = measure_abstaining(folders, [Model("none"), Model("minilm")], tmp_path / "kept")
    title, rows = section.parts
    assert title == "With `minilm`:"
    found = {tuple(cell.strip() for cell in row.strip("|").split("|")[:2]): row for row in rows.splitlines()[2:]}
    assert len(found) == 8
    for name in ("of another conversation", "with one thing changed", "of decisions", "of science"):
        bound, refused, answered, _ = found["conversations", name].strip("|").split("|")[2:]
        assert (float(bound) > 0.43, float(refused), float(answered)) == (True, 1.0, 1.0)


def test_a_run_writes_every_mode_beside_its_control(tmp_path: Path) -> None:
    output = tmp_path / "quality.md"
    parts = ["--decisions", "--among", "--memory", "--conversations", "--mixed"]
    command = ["-m", "benchmarks.quality", "--model", "minilm", "--beir", str(_beir(tmp_path / "sea")), *parts]
    command += ["--output", str(output)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = output.read_text()
    for row in ("keyword (BM25)", "semantic", "hybrid", "both by RRF, k = 60"):
        assert f"| {row} | 1.000 | 1.000 |" in page
    assert "What is to be reached" not in page
