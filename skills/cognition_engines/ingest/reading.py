"""One file to what it holds."""

from typing import Final

from cognition_engines.ingest.adr import read_adr
from cognition_engines.ingest.structured import UNRECOGNISED, read_json, read_json_lines, read_yaml
from cognition_engines.models import Problem, Reading

MARKDOWN: Final = frozenset({".md", ".markdown", ".mdx"})
YAML: Final = frozenset({".yaml", ".yml"})
JSON_LINES: Final = frozenset({".jsonl", ".ndjson"})
SUFFIXES: Final = MARKDOWN | YAML | JSON_LINES | {".json"}


def _suffix(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, dot, end = name.rpartition(".")
    return (dot + end).lower() if stem else ""


def _read_text(path: str, text: str, explicit: bool) -> Reading:
    suffix = _suffix(path)
    if suffix in MARKDOWN:
        return read_adr(path, text)
    if suffix in JSON_LINES:
        return read_json_lines(path, text, explicit)
    if suffix == ".json":
        return read_json(path, text, explicit)
    if suffix in YAML:
        return read_yaml(path, text, explicit)
    if text.lstrip()[:1] in {"{", "["}:
        return read_json(path, text, explicit=False)
    reading = read_adr(path, text)
    return reading if reading.recognised else read_yaml(path, text, explicit=False)


def read_file(path: str, content: bytes, explicit: bool = False) -> Reading:
    """Read one file: Markdown decision records, and decisions in YAML, JSON and JSONL, recognised by their content.

    `path` serves its extension and name, and stands verbatim in every problem. `explicit` says that a person named
    this very file, so that one that is broken is refused rather than passed over. Never raises.
    """
    try:
        return _read_text(path, content.decode("utf-8-sig"), explicit)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        stand_in = content.decode("utf-16" if wide else "latin-1", errors="replace")
        if explicit or _read_text(path, stand_in, explicit=False) != UNRECOGNISED:
            found = "UTF-16" if wide else "another encoding, such as Latin-1"
            return Reading(rejected=(Problem(path, line, f"the encoding must be UTF-8; this line is in {found}"),))
        return UNRECOGNISED
