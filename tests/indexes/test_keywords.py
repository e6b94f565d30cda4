import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
import tantivy

from cognition_engines.errors import ComponentFailed, FolderInUse
from cognition_engines.indexes.keywords.files import KEPT_ASIDE
from cognition_engines.indexes.keywords.index import KeywordIndex
from cognition_engines.indexes.keywords.term_weights import MANY_TEXTS, MOST_WORDS
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.store.values import Text

TEXTS = [
    (1, "Use PostgreSQL for events\nThe event store needs transactions and ordering."),
    (2, "Use Redis for caching\nSessions are cached; losing them is acceptable."),
    (3, "Deploy with containers\nEvery service is built into an image and deployed by the pipeline."),
    (4, "Événements en français\nLe café reste ouvert."),
]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[KeywordIndex]:
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as opened:
        opened.apply(TEXTS, [], 4)
        yield opened


def found(index: KeywordIndex, query: str, limit: int = 10) -> list[int]:
    return [int(key) for key in index.search(query, limit)[0]]


def test_a_new_index_is_empty_and_answers_nothing(tmp_path: Path) -> None:
    with KeywordIndex.open(tmp_path / "deep" / "keywords", "store-1") as index:
        keys, scores = index.search("anything", 5)
        assert (index.seq, index.count, index.set_aside) == (0, 0, None)
        assert (keys.dtype.name, scores.dtype.name, len(keys), len(scores)) == ("int64", "float64", 0, 0)


def test_the_text_with_more_of_the_query_comes_first(index: KeywordIndex) -> None:
    keys, scores = index.search("which store do events use", 10)
    assert keys.tolist() == [1, 2]
    assert scores[0] > scores[1] > 0


def test_a_repeated_word_of_the_query_counts_as_often(index: KeywordIndex) -> None:
    once = index.search("redis", 1)[1][0]
    assert index.search("redis redis Redis", 1)[1][0] == pytest.approx(3 * once)


def test_a_removed_key_is_not_found_and_removing_it_again_is_no_error(index: KeywordIndex) -> None:
    index.apply([], [2, 77], 5)
    index.apply([], [2], 6)
    assert found(index, "redis") == []
    assert (index.count, index.seq) == (3, 6)


def test_applied_changes_are_ignored(index: KeywordIndex) -> None:
    index.apply([(2, "Use memcached")], [1], 4)
    assert found(index, "redis") == [2]
    assert (index.count, index.seq) == (4, 4)


@pytest.mark.parametrize(("upserts", "deletes"), [([(1, "a"), (1, "b")], []), ([(1, "a")], [1]), ([], [1, 1])])
def test_a_key_named_twice_is_refused(index: KeywordIndex, upserts: list[tuple[int, str]], deletes: list[int]) -> None:
    with pytest.raises(ValueError, match="more than once"):
        index.apply(upserts, deletes, 9)
    assert (index.count, index.seq) == (4, 4)


def test_a_failing_change_leaves_nothing_behind(index: KeywordIndex) -> None:
    with pytest.raises(ComponentFailed):
        index.apply([(50, "half of a change"), (2**70, "no such key")], [1], 5)
    index.apply([(51, "another")], [], 6)
    assert found(index, "half") == []
    assert found(index, "events") == [1]
    assert (index.count, index.seq) == (5, 6)


def test_reopening_keeps_texts_and_seq(tmp_path: Path) -> None:
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply(TEXTS, [], 4)
        index.apply([(1, "Use MongoDB")], [3], 8)
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as again:
        assert (again.seq, again.count, again.set_aside) == (8, 3, None)
        assert found(again, "mongodb") == [1]


def test_a_limit_below_one_is_refused(index: KeywordIndex) -> None:
    with pytest.raises(ValueError, match="limit"):
        index.search("redis", 0)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \n\t",
        "?!.,;:",
        '"',
        "'redis",
        "body:redis OR (NOT cache",
        "kind:checkpoint",
        "checkpoint",
        "+redis -cache ^3 ~2 [a TO b] {x} *",
        "🙂 👩‍👩‍👧 redis",
        "\0\u202eredis",
        "数据库 база данных",
        "redis" * 1638,
        "a " * 4096,
        "(" * 8192,
        " ".join(str(number) for number in range(2000))[:8192],
    ],
)
def test_no_query_text_is_an_operator_or_an_error(index: KeywordIndex, query: str) -> None:
    keys, _ = index.search(query, 10)
    among, _ = index.search_among(query, [1, 2, 3, 4])
    assert set(among.tolist()) == set(keys.tolist()) <= {2}


def words(rng: random.Random) -> str:
    return " ".join(f"w{min(rng.randrange(200), rng.randrange(200))}" for _ in range(rng.randrange(5, 60)))


def test_search_among_gives_the_keys_and_scores_of_the_whole_search(tmp_path: Path) -> None:
    rng = random.Random(5)
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        for seq in range(1, 6):
            index.apply([(rng.randrange(10**6) * 10 + seq, words(rng)) for _ in range(200)], [], seq)
        everything = index.search(" ".join(f"w{number}" for number in range(200)), 2000)[0].tolist()
        for _ in range(20):
            query = words(rng)
            asked = [*rng.sample(everything, 50), -1]
            keys, scores = index.search(query, 2000)
            expected = [(key, score) for key, score in zip(keys, scores, strict=True) if key in set(asked)]
            among = index.search_among(query, asked)
            assert list(zip(*among, strict=True)) == expected
            assert index.search(query, 7)[0].tolist() == keys[:7].tolist()


def test_marks_restrict_a_search_and_keep_its_scores(tmp_path: Path) -> None:
    rng = random.Random(11)
    texts = [Text(key, words(rng), marks=tuple(rng.sample(range(6), rng.randint(0, 4)))) for key in range(400)]
    query = " ".join(f"w{number}" for number in range(160, 190))
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply(texts, [], 1)
        every = dict(zip(*index.search(query, 400), strict=True))
        assert 100 < len(every) < 400
        for marks in ((), ((0,),), ((0,), (1,)), ((0, 1, 2),), ((0, 1), (3, 4)), ((7,),)):
            allowed = {one.key for one in texts if all(set(each) & set(one.marks) for each in marks)}
            found = dict(zip(*index.search(query, 400, marks=marks), strict=True))
            assert found == {key: score for key, score in every.items() if key in allowed}
        index.apply([texts[0]._replace(marks=(9,))], [], 2)
        assert index.search(texts[0].body, 9, marks=((9,),))[0].tolist() == [0]


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_threads_search_during_an_apply(index: KeywordIndex) -> None:
    def search(_: int) -> None:
        for _ in range(100):
            keys, scores = index.search("events redis image numbered", 50)
            assert {1, 2, 3} <= set(keys.tolist())
            assert all(scores[:-1] >= scores[1:])
            assert 1 in index.search_among("postgresql", [1, 2])[0]

    with ThreadPoolExecutor(4) as pool:
        searches = [pool.submit(search, number) for number in range(4)]
        for seq in range(5, 45):
            index.apply([(seq, f"numbered {seq}"), TEXTS[0]], [seq - 3] if seq > 8 else [], seq)
        for finished in searches:
            finished.result()
    assert index.seq == 44


KILLED = """
import sys
import time
from pathlib import Path
from cognition_engines.indexes.keywords.index import KeywordIndex
index = KeywordIndex.open(Path(sys.argv[1]), "store-1")
for seq in range(index.seq + 1, 100_000):
    index.apply([(seq * 3 + part, f"change number{seq} part{part}") for part in range(3)], [], seq)
    print(seq, flush=True)
"""


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_after_a_kill_seq_and_texts_agree(tmp_path: Path) -> None:
    folder = tmp_path / "keywords"
    told = 0
    for kill_after in (1, 4, 9):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(kill_after):
            told = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with KeywordIndex.open(folder, "store-1") as index:
            assert index.set_aside is None
            assert index.seq >= told
            assert index.count == 3 * index.seq
            assert found(index, f"number{index.seq}") == [index.seq * 3 + part for part in range(3)]
            assert found(index, f"number{index.seq + 1}") == []


def test_a_second_opening_is_refused_and_moves_nothing(index: KeywordIndex, tmp_path: Path) -> None:
    with pytest.raises(FolderInUse):
        KeywordIndex.open(tmp_path / "keywords", "store-1")
    with pytest.raises(FolderInUse):
        KeywordIndex.open(tmp_path / "keywords", "store-2")
    assert [path.name for path in tmp_path.iterdir()] == ["keywords"]
    assert found(index, "redis") == [2]


def test_a_closed_index_fails_and_releases_its_folder(index: KeywordIndex, tmp_path: Path) -> None:
    index.close()
    index.close()
    with pytest.raises(ComponentFailed):
        index.search("redis", 1)
    with pytest.raises(ComponentFailed):
        index.apply([], [], 99)
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as again:
        assert again.count == 4


def test_an_index_with_the_fields_of_another_version_is_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "keywords"
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True)
    older = tantivy.Index(builder.build(), path=str(folder))
    writer = older.writer()
    writer.add_document(tantivy.Document(key=1))
    writer.commit()
    writer.wait_merging_threads()
    del writer, older
    with KeywordIndex.open(folder, "store-1") as index:
        assert (index.seq, index.count) == (0, 0)
        assert index.set_aside is not None
        assert index.set_aside.reason == "keywords: the index is of another version"


def test_an_index_of_another_store_is_set_aside(index: KeywordIndex, tmp_path: Path) -> None:
    index.close()
    with KeywordIndex.open(tmp_path / "keywords", "store-2") as other:
        assert (other.seq, other.count) == (0, 0)
        assert other.set_aside is not None
        assert other.set_aside.folder == tmp_path / "keywords.damaged-1"
        assert "another store" in other.set_aside.reason
    with KeywordIndex.open(tmp_path / "keywords.damaged-1", "store-1") as old:
        assert old.count == 4


PARTS = ("*.fast", "*.fieldnorm", "*.idx", "*.pos", "*.store", "*.term", "*.del")


def spoil(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
        return
    if how == "grown":
        os.truncate(path, 1 << 40)  # sparse: it takes no space
        return
    if how == "cut":
        content = content[: len(content) // 2]
    elif how == "zeros":
        content = bytearray(len(content))
    else:
        content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("file", "how"),
    [
        *product(PARTS, ("gone", "one changed byte", "cut", "zeros", "grown")),
        *product(("meta.json", ".managed.json"), ("cut", "zeros", "grown")),
    ],
)
def test_a_damaged_file_sets_the_folder_aside(index: KeywordIndex, tmp_path: Path, file: str, how: str) -> None:
    index.apply([], [1], 5)
    index.close()
    spoil(next((tmp_path / "keywords").glob(file)), how)
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as fresh:
        assert (fresh.seq, fresh.count) == (0, 0)
        assert fresh.set_aside is not None
        fresh.apply(TEXTS, [], 5)
        assert found(fresh, "redis") == [2]


@pytest.mark.parametrize("suffix", ["fast", "fieldnorm", "idx", "term"])
def test_a_write_into_a_file_fails_the_next_search(index: KeywordIndex, tmp_path: Path, suffix: str) -> None:
    index.check()
    file = next((tmp_path / "keywords").glob(f"*.{suffix}"))
    assert found(index, "redis") == [2]
    whole = file.read_bytes()
    file.write_bytes(whole)
    for search in (lambda: index.search("redis", 1), lambda: index.search_among("redis", [2])):
        with pytest.raises(ComponentFailed, match="were changed"):
            search()
    index.check()
    assert found(index, "redis") == [2]
    with file.open("r+b") as opened:
        opened.write(bytes(20))
    with pytest.raises(ComponentFailed):
        index.search("redis", 1)
    with pytest.raises(ComponentFailed, match=f"{suffix} is not as it was written"):
        index.check()
    with pytest.raises(ComponentFailed):
        index.search("redis", 1)


def test_the_index_s_own_writes_fail_no_search(index: KeywordIndex) -> None:
    for seq in range(5, 60):
        index.apply([(seq, f"numbered {seq}")], [], seq)
        assert found(index, "redis") == [2]
        assert len(index.search_among("numbered", range(5, 60))[0]) == seq - 4
        if seq % 10 == 0:
            index.check()


def test_only_the_newest_folders_set_aside_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT_ASIDE + 3):
        KeywordIndex.open(tmp_path / "keywords", f"store-{number}").close()
    kept = sorted(path.name for path in tmp_path.glob("keywords.damaged-*"))
    assert kept == ["keywords.damaged-3", "keywords.damaged-4", "keywords.damaged-5"]


def test_no_text_can_be_read_from_the_folder(tmp_path: Path) -> None:
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply([(1, "quartzite follows obsidian")], [], 1)
    for path in (tmp_path / "keywords").iterdir():
        assert b"quartzite follows" not in path.read_bytes()


def test_a_folder_vanished_under_a_running_index_is_a_keyword_failure(tmp_path: Path) -> None:
    index = KeywordIndex.open(tmp_path / "keywords", "store-1")
    index.apply(TEXTS, [], 4)
    shutil.rmtree(tmp_path / "keywords")
    with pytest.raises(ComponentFailed) as failed:
        index.apply([(9, "nine")], [], 9)
    assert failed.value.component == "keywords"
    assert found(index, "redis") == [2]
    with suppress(ComponentFailed):  # of a thread that has not yet reported its failed write
        index.close()


def test_scifact_is_ranked_as_well_as_published_bm25(tmp_path: Path, shared_folder: Callable[[str], Path]) -> None:
    folder = shared_folder("data/scifact")
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    queries = [json.loads(line) for line in (folder / "queries_test.jsonl").read_text().splitlines()]
    judged: dict[str, dict[int, int]] = {}
    for line in (folder / "qrels_test.tsv").read_text().splitlines()[1:]:
        query, key, grade = line.split()
        judged.setdefault(query, {})[int(key)] = int(grade)
    total = 0.0
    with KeywordIndex.open(tmp_path / "keywords", "scifact") as index:
        index.apply([(int(text["_id"]), f"{text['title']}\n{text['text']}") for text in corpus], [], 1)
        for query in queries:
            grades = judged[query["_id"]]
            gain = sum(grades.get(key, 0) / math.log2(at + 2) for at, key in enumerate(found(index, query["text"])))
            best = sorted(grades.values(), reverse=True)[:10]
            total += gain / sum(grade / math.log2(at + 2) for at, grade in enumerate(best))
    assert total / len(judged) >= 0.68


VISIBLE = [Text(1, "zebra one", "alpha"), Text(2, "walrus one", "alpha"), Text(3, "okapi two", "alpha")]


def many_texts(count: int, project: str | None = None, first: int = 1) -> list[Text]:
    """Return texts with a word in all, a word in 60 of 100, a word in half, and a unique word."""
    return [
        Text(
            key,
            f"every {'most' if key % 5 < 3 else 'other'} {'half' if key % 2 else 'more'} w{key}",
            project,
        )
        for key in range(first, first + count)
    ]


def test_among_many_texts_a_common_word_is_searched_for_only_without_a_rarer_word(tmp_path: Path) -> None:
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply(many_texts(MANY_TEXTS - 1), [], 1)
        assert len(found(index, "every w7", 20)) == 20, "not so many texts yet"
        index.apply(many_texts(1, first=MANY_TEXTS), [], 2)
        assert found(index, "every most w7", 20) == [7]
        assert found(index, "every w7 w8", 20) == [7, 8]
        assert len(found(index, "every half", MANY_TEXTS)) == MANY_TEXTS // 2, "no more than half"
        for query in ("every", "every most", "every unheard"):
            assert len(found(index, query, 2 * MANY_TEXTS)) == MANY_TEXTS, query
        among = index.search_among("every w7", [6, 7, 8])
        assert among[0].tolist() == [7]
        assert among[1].tolist() == index.search("w7", 5)[1].tolist()


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_common_words_are_determined_by_the_texts_visible_to_the_reader(tmp_path: Path) -> None:
    """Compare results with and without hidden texts of any content: they are equal."""
    reader = Viewer(projects=frozenset({"alpha"}))
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply(many_texts(100, "alpha"), [], 1)
        before = found_by(index, "every w7", reader)
        index.apply(many_texts(MANY_TEXTS, "beta", first=101), [], 2)
        assert found_by(index, "every w7", reader) == before
        assert len(before & set(range(1, 101))) == 100
        theirs = Viewer(projects=frozenset({"beta"}))
        assert found_by(index, "every w200", theirs) == set()
        index.apply([Text(key, "nothing alike", "alpha") for key in range(20_000, 32_000)], [], 3)
        assert found_by(index, "every w200", theirs) == set(), "all of theirs have the word, if few of all"


def found_by(index: KeywordIndex, query: str, viewer: Viewer) -> set[int]:
    """Return the found keys up to 100; all of the viewer's texts are requested."""
    return {int(key) for key in index.search(query, 2 * MANY_TEXTS, viewer)[0]} & set(range(1, 101))


def test_hidden_texts_change_no_digit_of_a_score(tmp_path: Path) -> None:
    reader = Viewer(projects=frozenset({"alpha"}))
    hidden = [Text(key, "zebra okapi " * 3000, "beta") for key in range(10, 40)]
    with (
        KeywordIndex.open(tmp_path / "alone", "store-1") as alone,
        KeywordIndex.open(tmp_path / "beside", "store-1") as beside,
    ):
        alone.apply(VISIBLE, [], 1)
        beside.apply(hidden[:15], [], 1)
        beside.apply([*VISIBLE, *hidden[15:]], [], 2)
        for query in ("zebra", "one two zebra", "two okapi one walrus"):
            expected = dict(zip(*(each.tolist() for each in alone.search(query, 9, reader)), strict=True))
            found = dict(zip(*(each.tolist() for each in beside.search(query, 9, reader)), strict=True))
            among = dict(
                zip(*(each.tolist() for each in beside.search_among(query, [1, 2, 3, 10], reader)), strict=True)
            )
            assert expected == found == among


def test_of_a_long_query_the_rarest_words_count(tmp_path: Path) -> None:
    """Use word number n in n of the visible texts, and even more often in hidden texts."""
    reader = Viewer(projects=frozenset({"alpha"}))
    words = [f"word{number}" for number in range(1, MOST_WORDS + 21)]
    visible = [Text(key, " ".join(words[key:]), "alpha") for key in range(len(words))]
    hidden = [Text(1000 + key, " ".join(words[: len(words) - key]), "beta") for key in range(len(words))]
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply([*visible, *hidden], [], 1)
        every, rarest, others = " ".join(words), " ".join(words[:MOST_WORDS]), " ".join(words[MOST_WORDS:])
        assert index.search_among(every, [*range(100)], reader)[1].tolist() == (
            index.search_among(rarest, [*range(100)], reader)[1].tolist()
        )
        assert set(index.search(every, 999, reader)[0].tolist()) == set(range(MOST_WORDS))
        assert set(index.search(others, 999, reader)[0].tolist()) == set(range(len(words)))


def test_counts_stay_true_from_commit_to_commit(tmp_path: Path) -> None:
    rng = random.Random(3)
    viewers = [
        Viewer(clearance, projects)
        for clearance in Sensitivity
        for projects in (None, frozenset({"alpha"}), frozenset({"alpha", "beta"}))
    ]
    query = "w1 w3 w9 w27 w81 w150"
    texts: dict[int, Text] = {}
    with KeywordIndex.open(tmp_path / "followed", "store-1") as index:
        for seq in range(1, 9):
            keys = rng.sample(range(60), 12)
            upserts = [
                Text(key, words(rng), rng.choice([None, "alpha", "beta"]), rng.choice([*Sensitivity])) for key in keys
            ]
            gone = [key for key in range(60, 63) if key in texts] if seq % 3 == 0 else []
            upserts += [Text(key, words(rng), "alpha") for key in range(60, 63) if key not in gone]
            index.apply(upserts, gone, seq)
            texts = {key: text for key, text in texts.items() if key not in gone} | {text.key: text for text in upserts}
            with KeywordIndex.open(tmp_path / f"new-{seq}", "store-1") as new:
                new.apply([*texts.values()], [], 1)
                for viewer in viewers:
                    ranked = [
                        dict(zip(*(each.tolist() for each in one.search(query, 99, viewer)), strict=True))
                        for one in (index, new)
                    ]
                    assert ranked[0] == ranked[1]


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_query_of_a_thousand_words_costs_little_more_than_a_short_query(tmp_path: Path) -> None:
    """Measure a reader with a partial view, the first time after a commit."""
    rng = random.Random(9)
    reader = Viewer(projects=frozenset({"alpha"}))
    vocabulary = [f"w{number}" for number in range(3000)]
    texts = [
        Text(key, " ".join(rng.choices(vocabulary, k=40)), rng.choice(["alpha", "beta"]), rng.choice([*Sensitivity]))
        for key in range(6000)
    ]
    queries = [" ".join(vocabulary[:1000]), " ".join(vocabulary[1000:1010])]
    times: list[list[float]] = [[], []]
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as index:
        index.apply(texts, [], 1)
        for query in queries:
            index.search(query, 100, reader)
        for seq in range(2, 9):
            index.apply([(9000 + seq, "w1 w2 w3")], [seq], seq)
            for query, spent in zip(queries, times, strict=True):
                began = time.process_time()  # of the processor: other work on the machine does not count
                index.search(query, 100, reader)
                spent.append(time.process_time() - began)
    assert min(times[0]) < 25 * min(times[1]), times
