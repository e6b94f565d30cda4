"""Builder of the documentation site: `python -m tests.docs.site`. Exit code 1 for a dead link."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (
    "*.md",
    "docs/**/*",
    "examples/**/*",
    "skills/**/*.md",
    "config/*",
    "LICENSE",
    "compose.yaml",
    "tests/wire/*.txt",
)


def gather(root: Path, folder: Path) -> None:
    """Copy every page, and every linkable file, into `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in PAGES:
        for path in root.glob(pattern):
            if path.is_file() and "__pycache__" not in path.parts:
                place = folder / path.relative_to(root)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


def build(root: Path, pages: Path, site: Path) -> int:
    """Gather the pages and build the site; return mkdocs's exit code."""
    gather(root, pages)
    settings = (root / "mkdocs.yml").read_text().replace("build/pages", str(pages))
    (pages.parent / "mkdocs.yml").write_text(settings)
    # not --quiet: suppressed warnings do not fail a strict build
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(pages.parent / "mkdocs.yml")]
    # the theme announces its successor on every build
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "--site-dir", str(site)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(build(ROOT, ROOT / "build" / "pages", ROOT / "build" / "site"))
