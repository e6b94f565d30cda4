from pathlib import Path

from cognition_engines.ingest.discover import walk


def found_in(folder: Path) -> list[str]:
    return [found.path.relative_to(folder).as_posix() for found in walk(folder).files]


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")


def test_files_are_found_by_extension_below_a_folder_in_a_fixed_order(tmp_path: Path) -> None:
    names = ["a/b/c.jsonl", "a/z.yaml", "a.MD", "b.md", "c.ndjson", "d.markdown", "e.yml", "f.json", "g.mdx", "h.txt"]
    names += ["i.text"]
    for name in [*reversed(names), "y", "z.template", "a/LICENSE"]:
        _touch(tmp_path / name)
    assert found_in(tmp_path) == names


def test_hidden_and_installed_folders_are_left_out(tmp_path: Path) -> None:
    for name in [".git/a.md", ".venv/a.md", "node_modules/a.md", ".hidden.md", "docs/a.md"]:
        _touch(tmp_path / name)
    assert found_in(tmp_path) == ["docs/a.md"]


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    _touch(tmp_path / "docs/a.md")
    (tmp_path / "docs/again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    assert found_in(tmp_path) == ["docs/a.md"]
