"""Making a data folder, which git ignores."""

from pathlib import Path


def make_data_folder(folder: Path) -> None:
    """Make a folder with its parents, unless it exists. A new or empty folder ignores itself in git. Raise OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        ignored = folder / ".gitignore"
        ignored.touch(mode=0o600)
        ignored.write_text("*\n", encoding="utf-8")
