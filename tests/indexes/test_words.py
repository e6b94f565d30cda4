"""Words of all scripts: a text is found by words in any encoding, and by names as a whole."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from unicodedata import normalize

import pytest
from hypothesis import example, given, strategies as st

from cognition_engines.engine import Engine
from cognition_engines.indexes.keywords import text_documents
from cognition_engines.indexes.keywords.index import KeywordIndex
from cognition_engines.indexes.keywords.language import Analyzer, QueryAnalyzer, make_analyzer
from cognition_engines.ingest.options import Options
from cognition_engines.relevance import RELEVANCE, Language
from cognition_engines.search.snippets import Room, passage
from cognition_engines.store.values import Text
from cstp.values.decision_searches import QueryDecisionsParams

FILLER = " ".join(f"word{number}" for number in range(40))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    return lambda: tmp_path_factory.mktemp("words") / "keywords"


@pytest.fixture
def index(folders: Callable[[], Path]) -> Iterator[KeywordIndex]:
    with KeywordIndex.open(folders(), "store-1") as opened:
        yield opened


def found(index: KeywordIndex, query: str) -> list[int]:
    keys, _ = index.search(query, 10)
    return keys.tolist()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Die Lüftung der Küche", "lüftung"),
        ("on mange la crêpe salée", "crêpe"),
        ("sửa máy bơm", "máy bơm"),
        ("펌프 점검", "펌프"),
        ("ポンプ を ガレージ へ", "ガレージ"),
        ("the ﬁlter of the pump", "filter"),
        ("ｐｕｍｐ １２３", "pump"),
        ("Ge\u00adtriebe\u200bkasten", "getriebekasten"),
        ("ПОДЪЁМНИК", "подъемник"),
        ("ΑΝΤΛΊΑ", "αντλία"),
        ("المَضخَّة", "المضخة"),
        ("המַשְׁאֵבָה", "המשאבה"),
        ("पम्प की मरम्मत", "मरम्मत"),
        ("⚓ day", "⚓"),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_match_in_any_form(index: KeywordIndex, form: str, text: str, query: str) -> None:
    index.apply([(1, normalize(form, text)), (2, "something else")], [], 1)  # type: ignore[arg-type]
    assert found(index, normalize("NFD", query)) == [1]
    assert found(index, normalize("NFC", query)) == [1]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("四号水泵每周二进行检修。", "水泵"),
        ("四号水泵每周二进行检修。", "什么时候检修水泵"),
        ("四号水泵每周二进行检修。", "泵"),
        ("四号ポンプは火曜日に修理します。", "修理"),
        ("四号ポンプは火曜日に修理します。", "ポンプ"),
        ("펌프를 화요일에 점검했습니다.", "펌프"),
        ("그는 물을 마셨다", "물"),
        ("ปั๊มหมายเลขสี่ซ่อมทุกวันอังคาร", "ซ่อม"),
        ("ປ້ຳນ້ຳເບີສີ່ສ້ອມແປງທຸກວັນອັງຄານ", "ສ້ອມແປງ"),
        ("ស្នប់ទឹកត្រូវបានជួសជុល", "ជួសជុល"),
        ("ရေစုပ်စက်ကိုပြင်ဆင်သည်", "ပြင်ဆင်"),
    ],
)
def test_a_word_is_found_in_a_script_without_blanks(index: KeywordIndex, text: str, query: str) -> None:
    index.apply([(1, text), (2, "다른 것 別の話 别的事 อื่น")], [], 1)
    assert found(index, query)[:1] == [1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ticket VX-2207 is open", ["VX-2207", "vx-2207", "VX2207"]),
        ("tidewater is pinned to 3.41.7", ["3.41.7", "v3.41.7", "tidewater 3.41.7"]),
        ("released as v2031.07-rc1", ["v2031.07-rc1", "2031.07"]),
        ("see gates/opener.py", ["gates/opener.py", "opener.py", "./gates/opener.py"]),
        ("mounted at /srv/gates/south", ["/srv/gates/south"]),
        ("C:\\gates\\south.ini holds it", ["C:\\gates\\south.ini", "south.ini"]),
        ("it raises ERR_GATE_STUCK", ["ERR_GATE_STUCK"]),
        ("error G2207 again", ["G2207", "g2207"]),
        ("call openGateByNumber", ["openGateByNumber", "opengatebynumber"]),
        ("call open_gate_by_number", ["open_gate_by_number", "openGateByNumber"]),
        ("a gate::queue<Ship>", ["gate::queue"]),
        ("written in C++ once", ["C++", "(C++)"]),
        ("the address is 10.1.22.3", ["10.1.22.3"]),
        ("gate@port.example answers", ["gate@port.example"]),
        ("costs 2,450,000.75 euros", ["2450000", "2,450,000.75"]),
        ("commit 9c41d7e0", ["9c41d7e0"]),
    ],
)
def test_a_pasted_name_ranks_before_its_parts(index: KeywordIndex, text: str, names: list[str]) -> None:
    parts = "v vx 2207 3 41 7 2031 07 rc1 gates opener py srv south c ini err gate stuck g open by number queue " * 3
    others = [
        (2, parts + "10 1 22 ship port example 2 450 000 75 tidewater"),
        (3, "VX-2208 VY-2207 3.41.8 gates/closer.py openGateByName C# 10.1.22.4 ERR_DOOR_STUCK"),
    ]
    index.apply([(1, f"{FILLER} {FILLER} {text} {FILLER}"), *others], [], 1)
    assert {name: found(index, name)[:1] for name in names} == {name: [1] for name in names}


def test_the_parts_of_a_name_are_words_and_the_whole_name_weighs_more(index: KeywordIndex) -> None:
    index.apply(
        [(1, "wrap openGateByNumber"), (2, "open the gate by number"), (3, "rename HTTPRouter and lock_gate_twice")],
        [],
        1,
    )
    assert set(found(index, "gate number")) == {1, 2, 3}
    assert found(index, "router") == [3]
    assert found(index, "openGateByNumber")[0] == 1
    assert found(index, "lock gate twice")[0] == 3


@pytest.mark.parametrize(
    ("text", "query"),
    [("re-use the e-mail", "email"), ("email", "e-mail"), ("don't wait", "dont wait"), ("the log‐file", "logfile")],
)
def test_a_word_with_a_hyphen_or_an_apostrophe_is_found_without_it(index: KeywordIndex, text: str, query: str) -> None:
    index.apply([(1, text), (2, "other")], [], 1)
    assert found(index, query) == [1]


def test_an_id_is_found_before_texts_naming_it(index: KeywordIndex) -> None:
    ids = ["dec-2207", "a|b", "Größe-1", "plain"]
    naming = [Text(10 + place, f"{each} {each} {each}", title=each) for place, each in enumerate(ids)]
    index.apply([*(Text(place, FILLER * 9, id=each) for place, each in enumerate(ids)), *naming], [], 1)
    assert [found(index, each)[0] for each in ids] == [0, 1, 2, 3]
    assert found(index, normalize("NFD", "what of größe-1?"))[0] == 2
    assert 3 not in found(index, "something plain")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Gebühr", "Gebühren"),
        ("Entscheidung", "Entscheidungen"),
        ("Vertrag", "Verträge"),
        ("Kran", "Kräne"),
        ("Buch", "Bücher"),
        ("Haus", "Häuser"),
        ("Schiff", "Schiffe"),
        ("Nachricht", "Nachrichten"),
        ("Regel", "Regeln"),
        ("Höhe", "Höhen"),
        ("Größe", "Groessen".replace("oe", "ö").replace("ss", "ß")),
    ],
)
def test_german_plurals_and_singulars_find_each_other(index: KeywordIndex, one: str, other: str) -> None:
    index.apply([(1, one), (2, other), (3, "etwas anderes")], [], 1)
    assert set(found(index, one)) == set(found(index, other)) == {1, 2}


def test_a_german_word_is_found_in_a_compound(index: KeywordIndex) -> None:
    index.apply([(1, "Die Hafenliegegebühren steigen"), (2, "etwas anderes")], [], 1)
    assert found(index, "Gebühr") == found(index, "Gebühren") == [1]


@pytest.mark.parametrize(("text", "query"), [("a list", "listen"), ("tok", "token"), ("ord", "order"), ("op", "open")])
def test_english_words_with_such_endings_stay_different(index: KeywordIndex, text: str, query: str) -> None:
    index.apply([(1, text)], [], 1)
    assert found(index, query) == []


@pytest.mark.parametrize("query", ["", "?", "...", "\u0301", "\u200b", "-_-", "\ufffd", "'", "::", "="])
def test_a_query_without_words_finds_nothing(index: KeywordIndex, query: str) -> None:
    index.apply([(1, "? ... \u0301 :: text")], [], 1)
    assert found(index, query) == []


HOSTILE = {  # by name: the repeated part of a long text without blanks
    "camel case": "aB",
    "hyphens": "a-",
    "digits": "1,2",
    "slashes": "/",
    "Chinese": "水",
    "umlauts": "ü",
    "vowels of Thai": "\u0e34",
    "marks in a wrong order": "\u0301\u0323",
    "half width": "\uff9e\u0301",
    "joiners": "\u200d",
}


def measure_words(text: str) -> tuple[float, float, int]:
    """Return CPU seconds, the word count of `text`, and the total length of distinct words."""
    plain: dict[str, float] = {}
    others: dict[str, float] = {}
    analyzer, began = make_analyzer(), process_time()
    analyzer.count(text, 1.0, plain, others)
    return process_time() - began, sum(plain.values()) + sum(others.values()), sum(map(len, {**plain, **others}))


@pytest.mark.parametrize("repeated", HOSTILE.values(), ids=HOSTILE)
def test_a_text_without_blanks_takes_linear_time_and_has_a_bounded_number_of_words(repeated: str) -> None:
    length = 4_000
    short = min(measure_words(repeated * (length // len(repeated)))[0] for _ in range(3))
    seconds, words, characters = min(measure_words(repeated * (8 * length // len(repeated))) for _ in range(3))
    assert seconds < max(24 * short, 0.02)  # 64 if each character looked at all others
    assert words <= 3 * 8 * length
    assert characters <= 10_000


def test_a_german_word_has_a_bounded_number_of_parts() -> None:
    words = " ".join(f"ü{number:03}" + "abcdefghij" * 5 for number in range(100))
    assert measure_words(words)[2] <= 20 * len(words)
    assert measure_words(words.replace("ab", "abcdefghij" * 20))[2] <= 20 * len(words) * 5


def test_a_snippet_is_chosen_by_the_same_words() -> None:
    analyze = make_analyzer().analyze
    text = "別の話です。" * 40 + "水泵每周二进行检修。" + "别的事。" * 40
    assert "检修" in passage(text, None, frozenset(analyze("检修水泵")), analyze, Room(60))


async def test_an_index_with_words_of_an_older_format_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    store, indexes, records = f"sqlite:///{tmp_path}/records.sqlite3", tmp_path / "indexes", tmp_path / "records.jsonl"
    records.write_text('{"kind": "decision", "id": "pumps", "title": "四号水泵每周二进行检修。"}\n', encoding="utf-8")
    with monkeypatch.context() as older:
        older.setattr(text_documents, "FORMAT", 5)
        older.setattr(Analyzer, "count", lambda self, text, weight, plain, others: plain.update({text: weight}))
        engine = Engine.open(store, indexes, None)
        await engine.ingest([records], Options())
        assert (await engine.query_decisions(QueryDecisionsParams(query="检修"))).decisions == []
        engine.close()
    engine = Engine.open(store, indexes, None)
    await asyncio.to_thread(
        wait_until, lambda: {each.keywords_state for each in engine.indexes.all_spaces} == {"ready"}
    )
    found = await engine.query_decisions(QueryDecisionsParams(query="检修"))
    assert [match.id for match in found.decisions] == ["pumps"]
    engine.close()


# Marks of Markdown, joiners of names, accents without a letter, invisible and unassigned characters: what words are
# made of besides letters.
ODD_TEXTS = st.text(
    st.sampled_from("_\\*`'’.-/:@,+#∑\u0301\u034f\u200d\u2028\u0e31\u3099\ud800\ue000\U000e0001\x1c\xad aZß1ﷺ구한кй"),
    max_size=30,
) | st.text(max_size=30)


@given(texts=st.lists(ODD_TEXTS, min_size=1, max_size=5))
@example(texts=[r"v1/\_\_init\_\_.py"])
@example(texts=["∑_"])
def test_no_text_stops_the_index(texts: list[str], folders: Callable[[], Path]) -> None:
    with KeywordIndex.open(folders(), "store-1") as index:
        index.apply([Text(key, text) for key, text in enumerate(texts, 1)], [], 1)
        index.apply([Text(9, "The moorings of the loader.")], [], 2)
        assert found(index, "moorings loader") == [9]
        for text in texts:
            index.search(text, 5)


@given(text=ODD_TEXTS, language=st.sampled_from(["en", "de", "fr"]))
@example(text=r"\_\_init\_\_.py", language="en")
@example(text="ﷺ", language="en")
def test_no_word_is_empty_or_has_blanks(text: str, language: Language) -> None:
    words = make_analyzer(language).analyze(text)
    words += QueryAnalyzer(replace(RELEVANCE, language=language)).analyze(text)
    assert all(word and word.split() == [word] for word in words)
