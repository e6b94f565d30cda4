"""Cases of an ingest: folders of input with the expected records and problems.

A case is `tests/ingest/cases/SUBJECT/NAME/`: `in/` has files as they lie in a user's folder, `expected.yaml` all stored
records, refusals, warnings and counts of skipped files. A folder below `in/` that is called like an archive (`.zip`,
`.docx`, `.pptx`, `.epub`) is packed into one. An optional `case.yaml` has these members, all optional:

* `named`: paths below `in/` that are named explicitly; without it, the folder is.
* `options`: those of `Options`; `texts`: those of `Texts`, and a file `map.yaml` is their map.
* `formats`: true if files in formats other than text are read, too.
* `members`: for each kind of records the members to show; records of other kinds are not shown.

`python -m tests.ingest.cases --write SUBJECT/NAME ...` writes `expected.yaml`, for review; `--write all` writes each.
"""

import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic.alias_generators import to_camel

from cognition_engines.exchange.runs import export_lines
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.maps.map_files import parsed_map
from cognition_engines.ingest.options import Options, Silent, Summary, Texts
from cognition_engines.ingest.run import ingest
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.kinds.registry import SPECS
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Problem, Sensitivity
from cognition_engines.set_aside import SetAside
from cognition_engines.store.records import Records, open_records
from tests.stored import Quiet

CASES: Final = Path(__file__).with_suffix("")
REPOSITORY: Final = "cases"  # ids do not depend on the folder of a run
_WIDTH: Final = 118  # of texts
_LONGEST: Final = 160  # record on one line
_COMPUTED: Final = re.compile(r"[a-z]{3}_[0-9a-f]{16}")  # an id of a hash
_SUFFIX: Final = re.compile(r"~[0-9a-f]{6,}$")  # behind a given id
_EMPTY: Final = (None, [], {}, "")
_NAMES: Final = ("options", "texts", "named", "members", "formats")
_ARCHIVES: Final = {".zip", ".docx", ".pptx", ".epub"}


def all_cases() -> list[str]:
    """Return the names of the cases, SUBJECT/NAME."""
    return sorted(str(path.parent.relative_to(CASES)) for path in CASES.glob("*/*/in"))


def run_case(name: str, records: Records, folder: Path, reader: FormatReader) -> tuple[str, Summary]:
    """Ingest the files of a case from a copy in `folder`; return the text for `expected.yaml`, and a second run."""
    settings = _settings(CASES / name)
    paths, options = _copy_files(name, settings, folder), _options(settings, CASES / name / "map.yaml")
    formats = reader if settings["formats"] else None
    first, again = (ingest(paths, options, records, None, Silent(), formats=formats) for _ in range(2))
    found = list(_shown(records, settings["members"], str(folder / "in")))
    return "".join(_lines(found, first, str(folder / "in"))), again


def run_after_defaults(name: str, records: Records, folder: Path) -> Summary:
    """Ingest the files of a case without its options, then with them; return the second run."""
    settings = _settings(CASES / name)
    paths = _copy_files(name, settings, folder)
    ingest(paths, Options(repository=REPOSITORY, secrets="allow"), records, None, Silent())
    return ingest(paths, _options(settings, CASES / name / "map.yaml"), records, None, Silent())


def _copy_files(name: str, settings: Mapping[str, Any], folder: Path) -> list[Path]:
    """Copy the input of a case to `folder`; return the paths to name."""
    shutil.copytree(CASES / name / "in", folder / "in", copy_function=_copy_file)
    for path in sorted((folder / "in").rglob("*"), reverse=True):  # archives in archives first
        if path.is_dir() and path.suffix in _ARCHIVES:
            content = pack_folder(path)
            shutil.rmtree(path)
            path.write_bytes(content)
            os.utime(path, (0, 0))
    return [folder / "in" / path for path in settings["named"]] or [folder / "in"]


def pack_folder(folder: Path) -> bytes:
    """Return an archive of the files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return packed_members({str(path.relative_to(folder)): path.read_bytes() for path in files})


def packed_members(members: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of members by their names."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def _copy_file(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    os.utime(target, (0, 0))  # of two exports the one that changed last counts


def _settings(case: Path) -> dict[str, Any]:
    path = case / "case.yaml"
    given = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    assert given.keys() <= set(_NAMES), f"{path}: unknown members: {given.keys() - set(_NAMES)}"
    return {"options": {}, "texts": {}, "named": [], "members": None, "formats": False} | given


def _options(settings: Mapping[str, Any], map: Path) -> Options:
    texts, options = dict(settings["texts"]), dict(settings["options"])
    if "kind" in texts:
        texts["kind"] = TextKind(texts["kind"])
    if "decision_folders" in texts:
        texts["decision_folders"] = frozenset(texts["decision_folders"])
    if map.exists():
        texts["map"] = parsed_map(map.read_text(encoding="utf-8"), map.name)
    if "sensitivity" in options:
        options["sensitivity"] = Sensitivity[options["sensitivity"].upper()]
    # without the search for secrets, half of the time
    return Options(**{"repository": REPOSITORY, "secrets": "allow", **options}, texts=Texts(**texts))


def _shown(records: Records, members: Mapping[str, list[str]] | None, root: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of an export in the order of files and times, without defaults and computed ids."""
    lines = map(json.loads, export_lines(records, list(Kind), Quiet(), SetAside()))
    for line in sorted(lines, key=_position):
        if members is None or line["kind"] in members:
            record = dict(_telling(line))
            if members is not None:
                record = {name: record[name] for name in members[line["kind"]] if name in record}
            yield {"file": _relative(line["origin"]["source"], root), "kind": line["kind"], **record}


def _position(line: Mapping[str, Any]) -> tuple[Any, ...]:
    origin, record = line["origin"], line["record"]
    part = next((record[name] or 0 for name in ("start", "chunkIndex", "turnIndex") if name in record), 0)
    return origin["source"], record.get("ts") or "", origin["ordinal"], line["kind"], part, record["id"]


def _telling(line: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a record that differ from defaults and are not computed."""
    given, defaults = line["origin"]["given"], _defaults(Kind[line["kind"].upper()])
    if given is not None:
        yield "id", _SUFFIX.sub("", str(line["record"]["id"]))
    for name, value in line["record"].items():
        is_computed = isinstance(value, str) and _COMPUTED.fullmatch(value)
        if name != "id" and not is_computed and value not in _EMPTY and defaults.get(name, None) != value:
            yield name, value if name == "metadata" else _without_empty(value)


def _defaults(kind: Kind) -> dict[str, Any]:
    found = {to_camel(field.name): field.default for field in fields(SPECS[kind].model)}
    return found | {"sensitivity": "normal"} | ({"totalChunks": 1} if kind is Kind.CHUNK else {})


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_empty(member) for name, member in value.items() if member not in _EMPTY}
    return value


def _relative(text: str, root: str) -> str:
    return text.replace(f"{root}/", "").replace(root, ".")


def _lines(found: list[dict[str, Any]], summary: Summary, root: str) -> Iterator[str]:
    problems = {"refused": summary.rejected, "warnings": summary.warnings}
    yield "records:\n" if found else "records: []\n"
    yield from (f"- {_flow(one)}\n" if _fits(one) else _block(one) for one in found)
    for name, problems_of in problems.items():
        if problems_of:
            yield f"{name}:\n"
            ordered = sorted(problems_of, key=lambda one: (one.file, one.line or 0, one.reason))
            yield from (f"- {_flow(_problem(one, root))}\n" for one in ordered)
    if summary.skipped:
        yield f"skipped: {json.dumps(dict(sorted(summary.skipped.items())))}\n"


def _problem(problem: Problem, root: str) -> str:
    place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
    return _relative(f"{place}: {problem.reason}", root)


def _fits(one: dict[str, Any]) -> bool:
    texts = [value for value in one.values() if isinstance(value, str)]
    return len(_flow(one)) + 2 <= _LONGEST and not any("\n" in text for text in texts)


def _flow(value: Any) -> str:
    text = yaml.dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**9)
    return text.removesuffix("\n...\n").strip()


def _block(one: dict[str, Any]) -> str:
    text = yaml.dump([one], Dumper=_Block, default_flow_style=None, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return str(text)


class _Block(yaml.SafeDumper):
    """YAML writer for texts of several lines as lines."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    def represent_record(self, record: dict[str, Any]) -> yaml.MappingNode:
        node = self.represent_mapping("tag:yaml.org,2002:map", record)
        node.flow_style = "file" not in record and bool(node.flow_style)
        return node


_Block.add_representer(str, _Block.represent_text)
_Block.add_representer(dict, _Block.represent_record)


def main(words: list[str]) -> None:
    """Write the expected results of the named cases."""
    if words[:1] != ["--write"] or not words[1:]:
        sys.exit("python -m tests.ingest.cases --write SUBJECT/NAME ...")
    for name in all_cases() if words[1:] == ["all"] else words[1:]:
        with tempfile.TemporaryDirectory() as folder, FormatReader() as reader:
            records = open_records(f"sqlite:///{folder}/records.sqlite3")
            text, _ = run_case(name, records, Path(folder), reader)
            records.close()
        (CASES / name / "expected.yaml").write_text(text, encoding="utf-8")
        sys.stdout.write(f"written: {name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
