"""The chunks of a document: records made of its head and the pieces of its text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cognition_engines.drafts.chunking import Piece, count_tokens, split, too_long
from cognition_engines.drafts.ids import part_id
from cognition_engines.drafts.storable import Unacceptable
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk, Source

_LONG: Final = 1200  # tokens of an artifact above which its text is cut
_AUTHOR: Final = 200


def pieces_of(content: str) -> tuple[Piece, ...]:
    """Cut the text of a document. Raises `Unacceptable` for a piece that no chunk can hold."""
    pieces = split(content)
    if (reason := too_long(content, pieces)) is not None:
        raise Unacceptable(f"content: {reason}")
    return tuple(pieces)


def is_long(artifact: Artifact) -> bool:
    """Return whether the text of an artifact is to be cut and is not yet."""
    return not artifact.chunked and count_tokens(artifact.content) > _LONG


def chunks_of(head: Source | Artifact, pieces: Sequence[Piece], repository: str) -> list[Chunk | ArtifactChunk]:
    """Return the chunks of a document with their ids."""
    total = len(pieces)
    chunks = [
        _source_chunk(head, piece, place, total)
        if isinstance(head, Source)
        else _artifact_chunk(head, piece, place, total)
        for place, piece in enumerate(pieces)
    ]
    return [replace(one, id=part_id(one, repository)) for one in chunks]


def _artifact_chunk(head: Artifact, piece: Piece, place: int, total: int) -> ArtifactChunk:
    return ArtifactChunk(
        artifact_id=str(head.id),
        content=piece.text,
        title=head.title,
        chunk_index=place,
        total_chunks=total,
        start_char=piece.start,
        end_char=piece.end,
        project=head.project,
        sensitivity=head.sensitivity,
    )


def _source_chunk(head: Source, piece: Piece, place: int, total: int) -> Chunk:
    authors = ", ".join(head.authors)
    return Chunk(
        content=piece.text,
        source_id=head.id,
        title=head.title,
        author=authors if 0 < len(authors) <= _AUTHOR else None,  # answers take a longer one from the source
        category=head.category,
        tags=head.tags,
        chunk_index=place,
        total_chunks=total,
        start_char=piece.start,
        end_char=piece.end,
        place=piece.place,
        source_url=head.url,
        created_at=head.created_at,
        project=head.project,
        sensitivity=head.sensitivity,
    )
