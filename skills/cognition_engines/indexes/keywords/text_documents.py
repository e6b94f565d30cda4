"""Keyword index documents: a text's fields, record marks, and the checkpoint.

BM25 is computed when a text is written, except for word rarity, and with a constant in place of the average length: a
score must not depend on texts hidden from the reader. Each word in a text is a term that begins with the level's
letter; the level is how much the word counts in this text.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from math import log2
from pathlib import Path
from typing import Final, TypeAlias, assert_never

import tantivy

from cognition_engines.errors import ComponentFailed, ForeignCalls
from cognition_engines.indexes.columns.snapshot import Readers
from cognition_engines.indexes.keywords.files import COMPONENT, check_files, read_list
from cognition_engines.indexes.keywords.language import in_words, make_analyzer
from cognition_engines.indexes.keywords.words import id_term
from cognition_engines.models import (
    AtLeast,
    AtMost,
    Condition,
    Conditions,
    Governs,
    HasAll,
    HasAny,
    Not,
    OneOf,
    Sensitivity,
    Viewer,
)
from cognition_engines.relevance import Relevance
from cognition_engines.spaces import Space
from cognition_engines.store.values import Page, Text

_ATTEMPTS: Final = 3  # the index writer may merge its files away while they are being read
# Part of every checkpoint: an index written under another schema or analyzer is not read.
FORMAT: Final = 6
CHECKPOINT: Final = "checkpoint"
LENGTH: Final = 200  # words, in place of the average: 100 to 300 do as well, see decision 0033
K1: Final = 1.2
B: Final = 0.75
LOWEST, HIGHEST = -5, 4  # levels, octaves of how often a word is in a text by how long the text is
LETTERS: Final = "abcdefghij"
# Each level's letter with BM25's factor of it, 0 to K1 + 1.
LEVELS: Final = tuple(
    (letter, (K1 + 1) / (1 + 2.0**-level)) for letter, level in zip(LETTERS, range(LOWEST, HIGHEST + 1), strict=True)
)
HIGHEST_FACTOR: Final = LEVELS[-1][1]
Marks: TypeAlias = tuple[tuple[int, ...], ...]  # a text must have a mark from each group
ID_WEIGHT: Final = 20.0  # how often a text's id counts, so that it comes before all texts that name it


def make_splitter() -> tantivy.TextAnalyzer:
    """Return the reader for word fields, which are written as terms with blanks between them."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    # stored in alphabetical order: a removed text is taken from the counts of its words
    builder.add_text_field("word", stored=True, tokenizer_name="words", index_option="basic")
    builder.add_text_field("levelled", tokenizer_name="words", index_option="basic")
    builder.add_text_field("project", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("clearance", stored=True, indexed=True)  # each level a reader may have
    builder.add_integer_field("mark", indexed=True)
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("store", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("columns", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("format", stored=True)
    builder.add_integer_field("seq", stored=True)
    return builder.build()


def written_by(columns: str, relevance: Relevance) -> str:
    """Return how a checkpoint names the columns and the relevance by which an index was written."""
    return f"{columns} {relevance.of_texts}"


def write_checkpoint(writer: tantivy.IndexWriter, store_id: str, columns: str, seq: int) -> None:
    writer.delete_documents_by_term("kind", CHECKPOINT)
    writer.add_document(tantivy.Document(kind=CHECKPOINT, store=store_id, columns=columns, format=FORMAT, seq=seq))


def read_checkpoint(searcher: tantivy.Searcher, schema: tantivy.Schema, store_id: str, columns: str) -> int:
    """Return the checkpoint's `seq`. Raise ComponentFailed without a checkpoint for this store, format and columns."""
    query = tantivy.Query.term_query(schema, "kind", CHECKPOINT, index_option="basic")
    hits = searcher.search(query, 2).hits
    if len(hits) != 1:
        raise ComponentFailed(COMPONENT, f"{len(hits)} checkpoints in the index")
    values = searcher.doc(hits[0][1])
    if (values.get_first("format"), values.get_first("store")) != (FORMAT, store_id):
        raise ComponentFailed(COMPONENT, "the index belongs to another store or format")
    if values.get_first("columns") != columns:
        raise ComponentFailed(COMPONENT, "the index has other columns")
    return int(values.get_first("seq") or 0)


@dataclass(frozen=True, slots=True)
class KeywordState:
    """How far an index has followed the records, and how many texts it holds."""

    seq: int
    texts: int


def inspect_keywords(folder: Path, store_id: str, columns: str, relevance: Relevance) -> KeywordState | None:
    """Return the state of the index in `folder`, None without an index.

    Compare every file with the file list. Raise ComponentFailed if the index is damaged or belongs to another store,
    other columns or another relevance.
    """
    written = written_by(columns, relevance)
    if not (folder / "meta.json").exists():
        return None
    for _ in range(_ATTEMPTS - 1):
        with suppress(ComponentFailed):
            return _inspect(folder, store_id, written)
    return _inspect(folder, store_id, written)


def _inspect(folder: Path, store_id: str, columns: str) -> KeywordState:
    check_files(folder, read_list(folder))
    with ForeignCalls("keywords"):
        index = tantivy.Index.open(str(folder))
        searcher = index.searcher()
        seq = read_checkpoint(searcher, index.schema, store_id, columns)
        return KeywordState(seq, int(searcher.num_docs) - 1)  # the checkpoint is a document too


def mark(column: str, text: str) -> int:
    """Return the number for `text` in `column`: 0 to 2^63 - 1."""
    return int.from_bytes(blake2b(f"{column}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def columns_of(space: Space) -> str:
    """Return a digest of the columns that mark a space's texts: an index with another digest is rebuilt."""
    columns = [(column.name, column.read.__name__) for column in (*space.labels, *space.sets)]
    return blake2b(repr(([int(kind) for kind in space.kinds], columns)).encode(), digest_size=8).hexdigest()


def add_label_terms(texts: Sequence[Text], page: Page, readers: Readers) -> list[Text]:
    """Return the texts with their records' marks; the records are in the page."""
    columns: dict[str, Sequence[Sequence[str]]] = {
        name: [() if text is None else (text,) for text in column] for name, column in page.labels.items()
    }
    columns |= page.sets
    place_of = {key: place for place, key in enumerate(page.keys.tolist())}
    return [text._replace(marks=_marks_at(place_of[text.key], columns, readers)) for text in texts]


def _marks_at(place: int, columns: Mapping[str, Sequence[Sequence[str]]], readers: Readers) -> tuple[int, ...]:
    return tuple({mark(name, readers[name](text)) for name, column in columns.items() for text in column[place]})


def textual(conditions: Conditions) -> Conditions:
    """Return the conditions on labels or sets."""
    return tuple(each for each in conditions if isinstance(each, OneOf | HasAll | HasAny))


def marks_for(condition: Condition, readers: Readers) -> Marks:
    """Return the marks required by the condition; none if it is on numbers or paths, or negated."""
    match condition:
        case OneOf(columns, texts):
            return (tuple(mark(column, readers[column](text)) for column in columns for text in texts),)
        case HasAny(name, texts):
            return (tuple(mark(name, readers[name](text)) for text in texts),)
        case HasAll(name, texts):
            return tuple((mark(name, readers[name](text)),) for text in texts)
        case AtLeast() | AtMost() | Governs() | Not():
            return ()
        case _:
            assert_never(condition)


@dataclass(frozen=True, slots=True)
class Counted:
    """A text's counted parts: words, each once, and the project and sensitivity that decide who may see it."""

    words: Sequence[str]
    project: str | None
    sensitivity: int

    def is_seen_by(self, viewer: Viewer) -> bool:
        return self.sensitivity <= viewer.clearance and (viewer.projects is None or self.project in viewer.projects)


class DocumentMaker:
    """A maker of text documents, weighed by `relevance`."""

    def __init__(self, relevance: Relevance) -> None:
        self._relevance = relevance
        self._analyzer = make_analyzer(relevance.language)

    def make(self, text: Text) -> tuple[tantivy.Document, Counted]:
        """Return a text's document and the counted parts."""
        counts, length = self._weigh(text)
        letters = _letters(counts.values(), length)
        document = tantivy.Document(key=text.key, word=" ".join(sorted(counts)))
        document.add_text("levelled", " ".join([letters[times] + word for word, times in counts.items()]))
        for clearance in range(text.sensitivity, max(Sensitivity) + 1):
            document.add_integer("clearance", clearance)
        if text.project is not None:
            document.add_text("project", text.project)
        for mark in text.marks:
            document.add_integer("mark", mark)
        return document, Counted(tuple(counts), text.project, int(text.sensitivity))

    def _weigh(self, text: Text) -> tuple[Mapping[str, float], float]:
        """Return how often each word counts, and the text's length without names and word parts."""
        counts: dict[str, float] = {}
        others: dict[str, float] = {}
        for weight, part in self._weighted_parts(text):
            self._analyzer.count(part, weight, counts, others)
        length = sum(counts.values())
        for word, counted in others.items():
            counts[word] = counts.get(word, 0.0) + counted
        if text.id is not None and (term := id_term(text.id)) is not None:
            counts[term] = ID_WEIGHT
        return counts, length

    def _weighted_parts(self, text: Text) -> Iterable[tuple[float, str]]:
        """Yield all parts that find a text, each with a weight."""
        relevance = self._relevance
        yield 1.0, text.body
        if text.title is not None and relevance.title_weight != 1:
            yield relevance.title_weight - 1.0, text.title
        if text.day is not None and relevance.dates_in_words:
            yield 1.0, in_words(text.day, relevance.language)
        own = min(1.0, relevance.long_turn / max(1, len(text.body))) ** 2
        for weight, bodies in zip(relevance.adjacent, text.adjacent, strict=False):
            yield from ((weight * own * min(1.0, relevance.long_turn / max(1, len(body))), body) for body in bodies)


def _letters(counted: Iterable[float], length: float) -> dict[float, str]:
    """Return the level letter for each number of times a word counts in a text with `length` words."""
    norm = K1 * (1 - B + B * length / LENGTH)
    levels = {times: min(HIGHEST, max(LOWEST, round(log2(times / norm)))) for times in set(counted)}
    return {times: LETTERS[level - LOWEST] for times, level in levels.items()}
