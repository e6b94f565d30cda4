"""Secrets across pieces of a document, and in odd texts; `transcripts/secrets.txt` has the rest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.masking.fakes import key_block
from tests.masking.odd_texts import ODD_WITH_SECRETS

Cstp = Callable[..., Any]
MASK, REFUSE = ({"CSTP_SECRETS__FILES": policy} for policy in ("mask", "refuse"))
pytestmark = [pytest.mark.usefixtures("wordless"), pytest.mark.embedded_only("reads the bytes of the folder")]


def held(value: str) -> bool:
    return any(value.encode() in path.read_bytes() for path in Path("data").rglob("*") if path.is_file())


def test_a_private_key_over_several_pieces_of_a_document_is_masked(cstp: Cstp) -> None:
    block = key_block("RSA PRIVATE KEY", 25)
    text = "\n\n".join(f"Paragraph {number}. " + "Some words here. " * 40 for number in range(8))
    Path("long.md").write_text(f"# Long\n\n{text}\n\n{block}\n\n{text}\n")
    cstp("ingest", "long.md", **MASK)
    assert not any(held(line) for line in block.splitlines()[1:-1])


def test_a_masked_folder_is_imported_without_a_finding(cstp: Cstp) -> None:
    Path("all.md").write_text("# All\n\n" + "\n\n".join(text for text, _ in ODD_WITH_SECRETS))
    cstp("ingest", "all.md", **MASK)
    cstp("export", "lines.jsonl")
    done = cstp("import", "lines.jsonl", "--data-dir", "other", **REFUSE)
    assert (done.code, "secret" in done.err) == (0, False), done.err
    assert cstp("doctor", "--secrets", "--data-dir", "other").code == 0
