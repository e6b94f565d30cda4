"""What a keyword index holds: the fields of a text, how its words are taken apart, and the checkpoint."""

from typing import Final

import tantivy

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.keyword_files import COMPONENT
from cognition_engines.records.values import Text

# Part of every checkpoint: an index written under another schema or analyzer is not read.
FORMAT: Final = 3
CHECKPOINT: Final = "checkpoint"


def make_analyzer() -> tantivy.TextAnalyzer:
    # No stop words: with them SciFact's nDCG@10 is 0.684, without 0.685.
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(255))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


def make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_text_field("body", tokenizer_name="body", index_option="freq")
    builder.add_text_field("project", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("level", indexed=True)
    builder.add_integer_field("mark", indexed=True)
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("store", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("format", stored=True)
    builder.add_integer_field("seq", stored=True)
    return builder.build()


def make_document(text: Text) -> tantivy.Document:
    document = tantivy.Document(key=text.key, body=text.body, level=int(text.sensitivity))
    if text.project is not None:
        document.add_text("project", text.project)
    for mark in text.marks:
        document.add_integer("mark", mark)
    return document


def write_checkpoint(writer: tantivy.IndexWriter, store_id: str, seq: int) -> None:
    writer.delete_documents_by_term("kind", CHECKPOINT)
    writer.add_document(tantivy.Document(kind=CHECKPOINT, store=store_id, format=FORMAT, seq=seq))


def read_checkpoint(searcher: tantivy.Searcher, schema: tantivy.Schema, store_id: str) -> int:
    """The `seq` of the checkpoint. Raises ComponentFailed for one of another store or format, or none."""
    query = tantivy.Query.term_query(schema, "kind", CHECKPOINT, index_option="basic")
    hits = searcher.search(query, 2).hits
    if len(hits) != 1:
        raise ComponentFailed(COMPONENT, f"{len(hits)} checkpoints in the index")
    values = searcher.doc(hits[0][1])
    if (values.get_first("format"), values.get_first("store")) != (FORMAT, store_id):
        raise ComponentFailed(COMPONENT, "the index belongs to another store or format")
    return int(values.get_first("seq") or 0)
