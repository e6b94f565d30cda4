"""Records that may contradict a new record: named to the writer, within the writer's rights, and never changed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.engine import Engine
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_writes import RecordDecisionParams, RecordDecisionResult, SetStatusParams
from cstp.values.decisions import Alternative
from cstp.values.memories import RememberParams, RememberResult
from tests.stores import Stores
from tests.writing.conflict_pairs import ANN, count_reports, read_pairs
from tests.writing.written import forget, memory, new, write

PAT = WriteCaller("pat", Viewer(), frozenset({"read", "write"}))
BLIND: Final = WriteCaller("kim", EVERYTHING, frozenset({"write"}))
PAIRS: Final = Path(__file__).with_name("conflicts.jsonl")


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_embedder(EmbeddingChoice())


@pytest.fixture
def engine(tmp_path: Path, stores: Stores, model: Embedder) -> Iterator[Engine]:
    opened = Engine.open(stores.records(tmp_path), tmp_path / "indexes", model)
    yield opened
    opened.close()


async def conflicts_of(
    engine: Engine, asked: RecordDecisionParams | RememberParams, writer: WriteCaller = ANN
) -> list[tuple[str, str]]:
    """Write it; return title and reason of each conflict."""
    done = await write(engine, writer, asked)
    assert isinstance(done, RecordDecisionResult | RememberResult)
    return [(one.title, one.why) for one in done.possible_conflicts]


@pytest.mark.parametrize(
    ("old", "later", "why"),
    [
        ("Keep sessions in Redis", "Keep sessions in PostgreSQL", "alternative"),
        ("Commit straight to the main branch", "Never commit straight to the main branch", "negation"),
        ("Failed downloads are retried 3 times", "Failed downloads are retried five times", "number"),
        ("Access tokens expire after 15 minutes", "An access token expires after one hour", "number"),
        ("Keep sessions in Redis", "Keep avatars in object storage", None),
        ("The web client has a timeout of 30 seconds", "The web client has at most 10 connections", None),
        ("Keep sessions in Redis", "Sessions are kept in Redis", None),
    ],
)
@pytest.mark.parametrize("write", [new, lambda text: memory(content=text)], ids=["decision", "memory"])
async def test_a_possible_contradiction_is_reported_with_the_reason(
    engine: Engine, old: str, later: str, why: str | None, write: Callable[[str], RecordDecisionParams | RememberParams]
) -> None:
    assert await conflicts_of(engine, write(old)) == []
    assert await conflicts_of(engine, write(later)) == ([] if why is None else [(old, why)])


@pytest.mark.parametrize(
    ("old", "later", "why"),
    [
        ("CI runs on GitHub Actions", "Builds are executed by our Jenkins server", "alternative"),
        ("Avatars are stored on Foobucket", "The avatars live in Barstore", "alternative"),
        ("Anna owns the billing service", "Responsibility for the billing service lies with Tom", "alternative"),
        ("Releases go out on Tuesdays", "We ship a release every Thursday morning", "number"),
        ("We deploy on Fridays like on any other day", "No deployments on Fridays", "negation"),
        ("The nightly backup is copied to another region", "We no longer copy backups to a second region", "negation"),
        ("Only admins can invite new members", "Any member can invite others", "alternative"),
        ("Use PostgreSQL instead of MySQL for the shop", "The shop runs on MySQL", "alternative"),
        ("Use PostgreSQL instead of MySQL for the shop", "The shop runs on PostgreSQL; MySQL was rejected", None),
        ("In production the stack runs on Kubernetes", "On developer machines it runs on Nomad", None),
        ("Invoices to Germany carry 19 % VAT", "Invoices to Austria carry 20 % VAT", None),
        ("Contractors have no access to the source code", "Only employees have access to the source code", None),
        ("Anna owns the billing service", "Tom owns the search service", None),
    ],
)
async def test_another_answer_to_the_same_question_is_reported_and_an_answer_to_another_one_is_not(
    engine: Engine, old: str, later: str, why: str | None
) -> None:
    await conflicts_of(engine, new(old))
    assert await conflicts_of(engine, new(later)) == ([] if why is None else [(old, why)])


async def test_a_rejected_alternative_is_a_conflict(engine: Engine) -> None:
    rejected = (Alternative("MongoDB"),)
    await conflicts_of(engine, new("Orders are stored in PostgreSQL", alternatives=rejected))
    found = await conflicts_of(engine, new("MongoDB stores all orders of the shop"))
    assert found == [("Orders are stored in PostgreSQL", "alternative")]


async def test_a_pending_decision_that_agrees_is_no_conflict(engine: Engine) -> None:
    """A text may name the alternative that both records reject."""
    await conflicts_of(engine, new("Replace Redis by Valkey as the cache"))
    again = new("The cache is Valkey", alternatives=(Alternative("Redis"),))
    assert await conflicts_of(engine, again) == []


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        ({"project": "mill"}, {"project": "mill"}, ["number"]),
        ({"project": "mill"}, {"project": "bakery"}, []),
        ({"project": "mill", "file": "get.py"}, {"project": "bakery", "file": "get.py"}, ["number"]),
    ],
)
async def test_only_records_of_the_same_project_or_file_count(
    engine: Engine, earlier: dict[str, Any], later: dict[str, Any], expected: list[str]
) -> None:
    await conflicts_of(engine, new("Failed downloads are retried 3 times", **earlier))
    found = await conflicts_of(engine, new("Failed downloads are retried 5 times", **later))
    assert [why for _, why in found] == expected


async def test_a_decision_out_of_force_or_superseded_by_the_new_one_is_no_conflict(engine: Engine) -> None:
    first = await write(engine, ANN, new("Failed downloads are retried 3 times"))
    assert await conflicts_of(engine, new("Failed downloads are retried 5 times", supersedes=(first.id,))) == []
    await write(engine, ANN, SetStatusParams(id=first.id, status="rejected", reason="too few"))
    found = await conflicts_of(engine, new("Failed downloads are retried 7 times"))
    assert found == [("Failed downloads are retried 5 times", "number")]


async def test_a_hidden_record_is_reported_to_no_one_and_a_repeated_call_omits_forgotten_records(
    engine: Engine,
) -> None:
    hidden = memory(content="The gate opens at 7:00", sensitivity=Sensitivity.SENSITIVE)
    old = await write(engine, ANN, hidden)
    later = memory(content="The gate opens at 9:00")
    assert await conflicts_of(engine, later, PAT) == []
    first = await write(engine, ANN, memory(content="The gate opens at 8:00"), "key")
    assert isinstance(first, RememberResult)
    assert [one.id for one in first.possible_conflicts if one.title == hidden.content] == [old.id]
    await write(engine, ANN, forget(old.id, reason="wrong"))
    again = await write(engine, ANN, memory(content="The gate opens at 8:00"), "key")
    assert isinstance(again, RememberResult)
    assert again.id == first.id
    assert old.id not in [one.id for one in again.possible_conflicts]


async def test_a_changed_memory_does_not_contradict_its_former_version(engine: Engine) -> None:
    page = {"source": "wiki", "source_id": "gate"}
    await conflicts_of(engine, memory(content="The gate opens at 7:00", **page))
    assert await conflicts_of(engine, memory(content="The gate opens at 9:00", **page)) == []


@pytest.mark.long("embeds two hundred texts")
async def test_most_reports_on_a_hundred_pairs_are_conflicts(engine: Engine) -> None:
    counts = await count_reports(engine, read_pairs(PAIRS, "first"), apart=False)
    assert counts.right >= 0.75 * counts.reported, counts
    assert counts.right >= 0.6 * counts.conflicts, counts


@pytest.mark.long("embeds five hundred texts")
async def test_few_reports_on_natural_pairs_are_wrong_and_most_conflicts_are_reported(engine: Engine) -> None:
    counts = await count_reports(engine, read_pairs(PAIRS, "look"), apart=True)
    assert counts.right >= 0.9 * counts.reported, counts
    assert counts.right >= 0.7 * counts.conflicts, counts


async def test_a_writer_without_the_scope_read_is_shown_no_other_record(engine: Engine) -> None:
    await conflicts_of(engine, new("Failed downloads are retried 3 times"))
    done = await write(engine, BLIND, new("Failed downloads are retried 5 times"))
    assert isinstance(done, RecordDecisionResult)
    assert (done.possible_conflicts, done.possible_duplicates) == ([], [])
    assert await conflicts_of(engine, new("Failed downloads are retried 7 times")) != []


@pytest.mark.parametrize(
    ("old", "later"),
    [
        ("The request timeout is 1,000 ms", "The request timeout is 1 second"),
        ("The lease lasts 1.0 hours", "The lease lasts 60 minutes"),
        ("Keep backups for 2 years", "Keep backups for 24 months"),
        ("Uploads have at most 1024 MB", "Uploads have at most 1 GB"),
        ("Uploads have at most 2,000 KB", "Uploads have at most 2 MB"),
    ],
)
async def test_equal_amounts_in_other_units_are_no_conflict(engine: Engine, old: str, later: str) -> None:
    await conflicts_of(engine, new(old))
    assert await conflicts_of(engine, new(later)) == []
