"""The measurement of `cstp hook at-prompt`, over two decisions."""

from pathlib import Path

from benchmarks.quality.prompts import Prompt, measure_prompts


def test_prompts_with_any_decision_and_with_theirs_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "shop/docs/adr"
    folder.mkdir(parents=True)
    for number, title in enumerate(("Keep orders in PostgreSQL", "Answer in JSON"), 1):
        text = f"# {title}\n\n## Status\n\nAccepted\n\n## Decision\n\n{title}.\n"
        (folder / f"000{number}-{number}.md").write_text(text)
    first, second = "docs/adr/0001-1.md", "docs/adr/0002-2.md"
    prompts = [
        Prompt("move the orders from PostgreSQL to MongoDB", "shop", [first]),
        Prompt("move the orders from PostgreSQL to MongoDB", "shop", [second]),
        Prompt("paint the garden fence in another green", None, []),
        Prompt("answer in JSON", None, []),
    ]
    table = measure_prompts(prompts, tmp_path, tmp_path / "measured")
    assert table.splitlines()[2:] == ["| shop | 0 of 2 | 1 of 2 |"]
