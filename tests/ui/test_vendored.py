"""Libraries of the page: exactly those in vendored.json, unchanged, with their licences, and in the wheel."""

import gzip
import json
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cstp_server.ui.assets import static_folder
from tests.programs import build_wheel

ROOT = Path(__file__).parents[2]
STATIC = static_folder()
UI = STATIC.parent
LISTED: list[dict[str, Any]] = json.loads((UI / "vendored.json").read_text(encoding="utf-8"))
LARGEST_TRANSFER = 400_000  # bytes of all files, compressed


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry["file"])
def test_a_library_is_unchanged_and_has_its_licence(entry: dict[str, Any]) -> None:
    assert set(entry) == {"file", "package", "version", "licence", "source", "sha256"}
    assert all(entry.values())
    content = (STATIC / "vendor" / entry["file"]).read_bytes()
    assert sha256(content).hexdigest() == entry["sha256"]
    licence = (UI / "licences" / f"{entry['package']}.txt").read_text(encoding="utf-8")
    words = {"MIT": "Permission is hereby granted, free of charge", "BSD-3-Clause": "BSD 3-Clause License"}
    assert words.get(entry["licence"], "Apache License") in licence


def test_every_library_and_every_licence_is_listed() -> None:
    there = {path.relative_to(STATIC / "vendor").as_posix() for path in (STATIC / "vendor").rglob("*")}
    assert there == {entry["file"] for entry in LISTED}
    assert len(there) == len(LISTED) > 0
    licences = {path.name for path in (UI / "licences").iterdir()}
    assert licences == {f"{entry['package']}.txt" for entry in LISTED}


def test_the_whole_page_is_less_than_400_kb_compressed() -> None:
    sizes = [len(gzip.compress(path.read_bytes(), mtime=0)) for path in STATIC.rglob("*") if path.is_file()]
    assert len(sizes) > len(LISTED)
    assert sum(sizes) < LARGEST_TRANSFER


@pytest.mark.long("starts a demo, or builds the wheel")
def test_the_wheel_has_the_page_with_its_libraries_and_licences(tmp_path: Path) -> None:
    with zipfile.ZipFile(build_wheel(ROOT, tmp_path)) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if name.startswith("cstp_server/ui/")}
    kept = [path for path in UI.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert packed == {f"cstp_server/ui/{path.relative_to(UI).as_posix()}": path.read_bytes() for path in kept}
