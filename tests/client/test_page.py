"""Blocks of docs/client.md, run in order against a real server; and the README block."""

import re
from pathlib import Path

import pytest

from tests.client.conftest import ROOT
from tests.serving import Serving

PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")


def blocks(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run(block: str, sample: Serving, names: dict[str, object]) -> None:
    """Run a block of Python, with the server's address in place of the documented address."""
    exec(compile(re.sub(r"http://127\.0\.0\.1:\d+", sample.url, block), "page", "exec"), names)


def test_every_block_of_the_page_runs(
    sample: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CSTP_TOKEN", "SHOP_TOKEN", "BILLING_TOKEN"):
        monkeypatch.setenv(name, sample.token())
    names: dict[str, object] = {}
    for language, block in blocks(PAGE):
        if language == "yaml":
            (tmp_path / "agents.yaml").write_text(re.sub(r"http://127\.0\.0\.1:\d+", sample.url, block))
        elif language == "python":
            run(block, sample, names)
    names["client"].close()  # type: ignore[attr-defined]
    printed = capsys.readouterr().out
    for expected in ("dec_", "WhoamiResult\nGetChunkResult\n-32007 Not found", "no record of art_nowhere", "shop 1"):
        assert expected in printed


def test_the_block_of_the_readme_runs(
    sample: Serving, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CSTP_TOKEN", sample.token())
    monkeypatch.setenv("CSTP_URL", sample.url)
    found = [block for language, block in blocks((ROOT / "README.md").read_text()) if language == "python"]
    assert len(found) == 1
    run(found[0].replace("Postgres", "PostgreSQL"), sample, {})
    assert "Keep the records in SQLite by default, in PostgreSQL when a URL names one" in capsys.readouterr().out
