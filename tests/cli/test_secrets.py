"""Secrets in files and in the store: masked, refused or reported with their lines, and listed by the doctor."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.masking.fakes import fake, key_block
from tests.masking.odd_texts import ODD_WITH_SECRETS

Cstp = Callable[..., Any]
TOKEN = "ghp_" + fake(36)
MASK, REFUSE, ALLOW = ({"CSTP_SECRETS__FILES": policy} for policy in ("mask", "refuse", "allow"))
pytestmark = [pytest.mark.usefixtures("wordless"), pytest.mark.embedded_only("reads the bytes of the folder")]


@pytest.fixture
def notes() -> str:
    folder = Path("notes")
    folder.mkdir()
    (folder / "note.md").write_text(f"# A note\n\nSome words.\n\nThe key is {TOKEN} for now.\n")
    record = {"kind": "artifact", "content": f"we use {TOKEN} there"}
    lines = [json.dumps({"kind": "artifact", "content": "plain"}), json.dumps(record)]
    (folder / "memory.jsonl").write_text("\n".join(lines))
    return str(folder)


def held(value: str = TOKEN) -> bool:
    return any(value.encode() in path.read_bytes() for path in Path("data").rglob("*") if path.is_file())


def test_a_secret_of_a_file_is_reported_with_its_line(cstp: Cstp, notes: str) -> None:
    done = cstp("ingest", notes)
    assert done.code == 0
    assert "memory.jsonl:2: content has a secret (github-pat), which is stored as it is" in done.err
    assert "note.md:5: content has a secret (github-pat), which is stored as it is" in done.err
    assert TOKEN not in done.out + done.err
    assert held()


def test_a_masked_secret_of_a_file_is_in_no_file_of_the_data(cstp: Cstp, notes: str) -> None:
    done = cstp("ingest", notes, **MASK)
    assert done.code == 0
    assert "note.md:5: content has a secret (github-pat), which was masked" in done.err
    assert not held()
    assert "4 unchanged" in cstp("ingest", notes, **MASK).out


def test_a_refused_secret_rejects_its_record_alone(cstp: Cstp, notes: str) -> None:
    done = cstp("ingest", notes, **REFUSE)
    assert done.code == 1
    assert "note.md:5: content must not contain a secret (github-pat)" in done.err
    assert "1 new" in done.out
    assert not held()


def test_allowed_secrets_are_not_looked_for(cstp: Cstp, notes: str) -> None:
    assert "secret" not in cstp("ingest", notes, **ALLOW).err


def test_a_private_key_over_several_pieces_of_a_document_is_masked(cstp: Cstp) -> None:
    block = key_block("RSA PRIVATE KEY", 25)
    text = "\n\n".join(f"Paragraph {number}. " + "Some words here. " * 40 for number in range(8))
    Path("long.md").write_text(f"# Long\n\n{text}\n\n{block}\n\n{text}\n")
    cstp("ingest", "long.md", **MASK)
    assert not any(held(line) for line in block.splitlines()[1:-1])


def test_a_name_with_a_secret_is_refused_since_a_mask_would_be_another_name(cstp: Cstp) -> None:
    Path("one.jsonl").write_text(json.dumps({"kind": "artifact", "content": "plain", "source_id": TOKEN}))
    done = cstp("ingest", "one.jsonl", **MASK)
    assert "sourceId must not contain a secret (github-pat); a name cannot be masked" in done.err
    assert not held()


def test_the_doctor_lists_stored_secrets_by_id_field_and_kind(cstp: Cstp, notes: str) -> None:
    cstp("ingest", notes)
    done = cstp("doctor", "--secrets", "--json")
    assert done.code == 1
    found = json.loads(done.out)["secrets"]
    assert {(one["of"], one["field"], one["kind"]) for one in found} == {
        ("artifact", "content", "github-pat"),
        ("chunk", "content", "github-pat"),
    }
    assert TOKEN not in done.out + done.err
    shown = cstp("doctor", "--secrets")
    assert f"artifact {next(one['id'] for one in found if one['of'] == 'artifact')}: content has a secret" in shown.out


def test_the_doctor_finds_nothing_in_a_store_without_secrets(cstp: Cstp, notes: str) -> None:
    cstp("ingest", notes, **MASK)
    assert cstp("doctor", "--secrets").code == 0


def test_a_secret_in_the_name_of_a_file_is_listed_once_until_the_file_is_renamed(cstp: Cstp) -> None:
    folder = Path("named")
    folder.mkdir()
    Path(folder, f"{TOKEN}.md").write_text("# A note\n\nSome words.\n")
    cstp("ingest", "named", **MASK)
    done = cstp("doctor", "--secrets")
    found = [line for line in done.out.splitlines() if "has a secret (" in line]
    assert len(found) == len(set(found)) == 4, done.out
    assert "rename the file and ingest with --prune" in done.out + done.err
    Path(folder, f"{TOKEN}.md").rename(Path(folder, "note.md"))
    cstp("ingest", "named", "--prune", "--yes", **MASK)
    assert cstp("doctor", "--secrets").code == 0
    assert not held()


def test_a_folder_that_was_masked_is_imported_without_a_finding(cstp: Cstp, notes: str) -> None:
    Path(notes, "all.md").write_text("# All\n\n" + "\n\n".join(text for text, _ in ODD_WITH_SECRETS))
    cstp("ingest", notes, **MASK)
    cstp("export", "lines.jsonl")
    done = cstp("import", "lines.jsonl", "--data-dir", "other", **REFUSE)
    assert (done.code, "secret" in done.err) == (0, False), done.err
    assert cstp("doctor", "--secrets", "--data-dir", "other").code == 0


def test_a_line_is_reported_once_for_each_field(cstp: Cstp) -> None:
    words = f"password: {'Winter' + '2026x'} and {TOKEN}"
    Path("one.md").write_text(f"# One\n\nFirst {words}\n\nthen {words}\n")
    lines = [line for line in cstp("ingest", "one.md").err.splitlines() if "has a secret" in line]
    assert sorted(line.partition(" has")[0].rpartition("one.md")[2] for line in lines) == [":3: content", ":5: content"]


def test_each_field_of_a_record_is_reported_with_its_own_line(cstp: Cstp) -> None:
    other = "ghp_" + fake(36, seed="other")
    record = {"kind": "artifact", "title": f"for {other}", "content": f"we use {TOKEN}"}
    Path("one.json").write_text(json.dumps([record], indent=2))
    lines = Path("one.json").read_text().splitlines()
    shown = [
        line.rpartition("one.json:")[2] for line in cstp("ingest", "one.json").err.splitlines() if "secret" in line
    ]
    assert len(shown) == 2, shown
    for line in shown:
        number, field = line.partition(" has")[0].split(": ")
        assert f'"{field}"' in lines[int(number) - 1], shown


def test_an_agent_is_not_named_by_a_secret(cstp: Cstp) -> None:
    done = cstp("token", "create", "--agent", TOKEN)
    assert done.code != 0
    assert "--agent must not contain a secret (github-pat)" in done.err
    assert TOKEN not in done.out + done.err


def test_an_import_reports_lines_with_secrets_and_refuses_what_it_cannot_mask(cstp: Cstp, notes: str) -> None:
    cstp("ingest", notes)
    cstp("export", "lines.jsonl")
    done = cstp("import", "lines.jsonl", "--json", "--data-dir", "other")
    assert [one["reason"] for one in json.loads(done.out)["secrets"]] == [
        "record.content has a secret (github-pat)"
    ] * 2
    refused = cstp("import", "lines.jsonl", "--data-dir", "third", **MASK)
    assert refused.code == 1
    assert "record.content must not contain a secret (github-pat)" in refused.err
