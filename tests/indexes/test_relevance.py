"""Additional signals in a keyword search: stop words, titles, dates, and turns around a turn."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.indexes.keywords.index import KeywordIndex
from cognition_engines.indexes.keywords.language import MONTHS, NAMES
from cognition_engines.ingest.options import Options
from cognition_engines.models import EVERYTHING
from cognition_engines.relevance import RELEVANCE, Language, Relevance
from cognition_engines.store.values import Text
from cstp.values.decision_searches import QueryDecisionsParams

# By language: a question, and its only meaningful word, in another form.
QUESTIONS: dict[Language, tuple[str, str]] = {
    "en": ("What did we do about the harbours?", "harbour"),
    "de": ("Was haben wir mit den Booten?", "Boot"),
    "fr": ("Que sont nos ports pour vous ?", "port"),
    "es": ("¿Qué es lo que hay en los puertos?", "puerto"),
    "it": ("E voi avete avuto i nostri porti?", "porto"),
    "pt": ("O que foi que nós temos nos portos?", "porto"),
    "nl": ("Wat was er met die boten van ons?", "boten"),
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[KeywordIndex]:
    with KeywordIndex.open(tmp_path / "keywords", "store-1") as opened:
        yield opened


def found(index: KeywordIndex, query: str) -> list[int]:
    keys, _ = index.search(query, 10)
    return keys.tolist()


def test_meaningless_words_find_nothing_beside_others(index: KeywordIndex) -> None:
    index.apply([(1, "what we did and how"), (2, "the tide"), (3, "tides")], [], 1)
    assert sorted(found(index, "What did we do about the tide?")) == [2, 3]


def test_a_query_of_nothing_but_such_words_is_searched_with_them(index: KeywordIndex) -> None:
    index.apply([(1, "to be or not to be"), (2, "the tide")], [], 1)
    assert found(index, "To be or not to be") == [1]
    assert found(index, "who") == []


def test_a_word_of_a_title_counts_more_than_a_word_of_a_text(index: KeywordIndex) -> None:
    filler = " ".join(f"word{number}" for number in range(40))
    index.apply(
        [
            Text(1, f"Berths\nA tide table. {filler}", title="Berths"),
            Text(2, f"Tide\nA berth table. {filler}", title="Tide"),
        ],
        [],
        1,
    )
    assert found(index, "tide") == [2, 1]
    assert found(index, "berth") == [1, 2]


def test_a_turn_is_found_by_turns_around_it_the_less_the_further_they_are(index: KeywordIndex) -> None:
    said = ["harbour", "one", "two", "three", "four"]
    texts = [
        Text(
            place,
            word,
            adjacent=tuple(
                tuple(said[other] for other in (place - away, place + away) if 0 <= other < len(said))
                for away in (1, 2, 3)
            ),
        )
        for place, word in enumerate(said)
    ]
    index.apply(texts, [], 1)
    assert found(index, "harbour") == [0, 1, 2, 3]


def test_a_long_turn_counts_its_own_words_more_than_surrounding_turns(index: KeywordIndex) -> None:
    own = " ".join(f"word{number}" for number in range(120))
    index.apply(
        [
            Text(1, f"{own} the harbour", adjacent=(("nothing", "nothing"),)),
            Text(2, own, adjacent=(("the harbour, our harbour", "that harbour, this harbour"),)),
            Text(3, "short", adjacent=((f"{own} the harbour", ""),)),
            Text(4, "short", adjacent=(("the harbour", ""),)),
        ],
        [],
        1,
    )
    assert found(index, "harbour") == [4, 1, 3, 2]


@pytest.mark.parametrize("query", ["8 May 2023", "May 2023", "2023-05-08", "what was said in May?"])
def test_a_day_s_statements_are_found_by_its_date(index: KeywordIndex, query: str) -> None:
    index.apply(
        [
            Text(1, "2023-05-08 Ana: the tide", day=date(2023, 5, 8)),
            Text(2, "2022-11-30 Ben: the tide", day=date(2022, 11, 30)),
        ],
        [],
        1,
    )
    assert found(index, query)[0] == 1


@pytest.mark.parametrize("language", list(QUESTIONS))
def test_each_language_has_its_stop_words_stems_and_months(tmp_path: Path, language: Language) -> None:
    question, word = QUESTIONS[language]
    with KeywordIndex.open(tmp_path / "keywords", "s", relevance=Relevance(language=language)) as index:
        others = [each for each in question.strip("¿?").split() if each[:3].casefold() != word[:3].casefold()]
        index.apply([(1, word), (2, " ".join(others[:3])), Text(3, "x", day=date(2023, 8, 8))], [], 1)
        assert found(index, question) == [1]
        assert found(index, MONTHS[language].split()[7]) == [3]
    assert len(MONTHS[language].split()) == 12


def test_all_languages_of_the_settings_are_supported() -> None:
    assert NAMES.keys() == MONTHS.keys() == QUESTIONS.keys()


def test_another_language_rebuilds_the_index_and_stop_words_do_not(tmp_path: Path) -> None:
    def aside(relevance: Relevance) -> bool:
        with KeywordIndex.open(tmp_path / "keywords", "s", relevance=relevance) as index:
            return index.set_aside is not None

    assert not aside(RELEVANCE)
    assert not aside(Relevance(stop_words=False))
    assert aside(Relevance(language="de"))


def test_more_weights_than_neighbouring_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="adjacent: has more than 3 weights"):
        Relevance(adjacent=(1.0, 1.0, 1.0, 1.0))


async def test_an_engine_searches_in_its_language(tmp_path: Path) -> None:
    folder = tmp_path / "adr"
    folder.mkdir()
    for name, decision in (("boote", "Wir haben Boote gekauft."), ("haben", "Wir haben gebucht.")):
        text = f"# {name.title()}\n\n* Status: accepted\n\n## Context\n\nKeiner.\n\n## Decision\n\n{decision}\n"
        (folder / f"{name}.md").write_text(text)
    options = EngineOptions(relevance=Relevance(language="de"))
    engine = Engine.open(f"sqlite:///{tmp_path}/records.sqlite3", tmp_path / "indexes", None, options)
    await engine.ingest([folder], Options())
    asked = QueryDecisionsParams(query="Was haben wir mit dem Boot?", mode="keyword")
    found = await engine.query_decisions(asked, EVERYTHING)
    assert [match.title for match in found.decisions] == ["Boote"]
    engine.close()
