"""Imports between folders as pictures in docs/architecture.md: `python -m tests.docs.imports` redraws them.

An arrow leads to the imported folder. Implied arrows are left out, so that a picture shows the layers.
"""

import re
import sys
from collections.abc import Iterator
from typing import Final

from tests.docs.test_readme import ROOT
from tests.test_architecture import sibling_imports

PAGE: Final = ROOT / "docs" / "architecture.md"
FOLDERS: Final = ("cstp_server", "cognition_engines", "cognition_engines.ingest")
BEGIN: Final = "<!-- imports: written by make docs -->"
END: Final = "<!-- end of imports -->"
_BLOCK: Final = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
Pairs = set[tuple[str, str]]


def folder_imports(folder: str) -> Pairs:
    """Return the imports between folders inside `folder`."""
    path = next(ROOT.glob(f"*/{folder.replace('.', '/')}"))
    folders = {each.name for each in path.iterdir() if (each / "__init__.py").exists()}
    return {pair for pair in sibling_imports()[folder] if folders.issuperset(pair)}


def reduce_pairs(pairs: Pairs) -> Pairs:
    """Return the pairs not implied by others."""

    def reached(start: str) -> Iterator[str]:
        for one, other in pairs:
            if one == start:
                yield other
                yield from reached(other)

    below = {one: set(reached(one)) for one, _ in pairs}
    return {
        (one, other)
        for one, other in pairs
        if not any(other in below.get(middle, ()) for first, middle in pairs if first == one and middle != other)
    }


def draw_imports() -> str:
    """Return the pictures between their marks."""
    parts = [BEGIN]
    for folder in FOLDERS:
        pairs = sorted(reduce_pairs(folder_imports(folder)))
        arrows = [f"  {one}_[{one}] --> {other}_[{other}]" for one, other in pairs]
        parts.append("\n".join([f"`{folder}`:\n", "```mermaid", "flowchart TD", *arrows, "```"]))
    return "\n\n".join([*parts, END])


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(draw_imports(), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
