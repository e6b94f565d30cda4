"""What a keyword index holds: the fields of a text, how its words are taken apart, and the checkpoint.

BM25 is computed when a text is written, except for the rarity of a word, and with a constant in place of the average
length: a score must depend on nothing that its reader may not see. Each word of a text is a term that begins with the
letter of its level, which is how much the word counts in this text.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tantivy

from cognition_engines.errors import ComponentFailed
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.keywords.files import COMPONENT, check_files, read_list
from cognition_engines.relevance import Relevance

_ATTEMPTS: Final = 3  # the writer of the index may merge its files away while they are being read
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


def make_splitter() -> tantivy.TextAnalyzer:
    """What reads the fields of words: they are written as terms with blanks between."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    # stored in the order of the alphabet, for what a removed text takes from the counts of its words
    builder.add_text_field("word", stored=True, tokenizer_name="words", index_option="basic")
    builder.add_text_field("levelled", tokenizer_name="words", index_option="basic")
    builder.add_text_field("project", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("clearance", stored=True, indexed=True)  # each that a reader may have
    builder.add_integer_field("mark", indexed=True)
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("store", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("columns", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("format", stored=True)
    builder.add_integer_field("seq", stored=True)
    return builder.build()


def written_by(columns: str, relevance: Relevance) -> str:
    """What a checkpoint names of the columns and the relevance that an index was written by."""
    return f"{columns} {relevance.of_texts}"


def write_checkpoint(writer: tantivy.IndexWriter, store_id: str, columns: str, seq: int) -> None:
    writer.delete_documents_by_term("kind", CHECKPOINT)
    writer.add_document(tantivy.Document(kind=CHECKPOINT, store=store_id, columns=columns, format=FORMAT, seq=seq))


def read_checkpoint(searcher: tantivy.Searcher, schema: tantivy.Schema, store_id: str, columns: str) -> int:
    """The `seq` of the checkpoint. Raises ComponentFailed for one of another store, format or columns, or none."""
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
    """The state of the index in `folder`, None without one.

    Every file is compared with the list of files. Raises ComponentFailed for an index that is damaged or belongs to
    another store, other columns or another relevance.
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
