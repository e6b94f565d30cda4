"""All texts of a folder through every door: `python -m tests.real_text FOLDER`, or `make real-text FOLDER=...`.

The folder is ingested. Each text is then written as a decision, a memory with an event, an episode and a source, and
must be refused by field name, or read back unchanged and found. All records are listed, exported, imported, backed up,
restored and served again.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Final

from tests.chaos.process import Served, run_cstp
from tests.text_doors import Doors, Form, Slot, new_records, texts_in
from tests.text_runs import check_folder

LONGEST: Final = 32_000  # characters of a text in a call, with a word after it
EVENT: Final = 9_900
SHORTEST: Final = 3  # words of a separately tried JSON text
PATIENT: Final = {f"{part}.deadline_seconds": 60 for part in ("store", "vectors", "embedding")}
FORMS: Final = ("decision", "artifact", "episode", "source")


def texts_of(folder: Path, seen: Counter[str]) -> Iterator[str]:
    """Yield the texts of all UTF-8 files, JSON texts separately, in pieces that a call may send."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts):
        seen["files"] += 1
        try:
            whole = path.read_bytes().decode()
        except UnicodeDecodeError:
            seen["files that are not UTF-8"] += 1
            continue
        for text in _parts(path, whole):
            yield from filter(str.strip, (text[at : at + LONGEST] for at in range(0, len(text), LONGEST)))


def _parts(path: Path, whole: str) -> Iterator[str]:
    yield whole
    if path.suffix == ".json":
        try:
            found = texts_in(json.loads(whole))
        except (ValueError, RecursionError):
            return
        yield from (text for text in found if len(text.split()) >= SHORTEST)


def given_text(form: Form, text: str, number: int) -> dict[Any, Any]:
    """Return plain values for the slots of a form, unique to this text, and the text in slots for long texts."""

    def value(slot: Slot) -> Any:
        if slot.kind != "text":
            return {"of": text[:EVENT]} if slot.kind == "json" else 0.5
        if slot.place[-1] == "narrative":
            return text[:EVENT] if text[:EVENT].strip() else "plain"
        return text if slot == form.main or slot.place[-1] in ("context", "reflection") else f"plain {number}"

    return {slot.place: value(slot) for slot in form.slots}


def run(folder: Path, data: Path) -> Counter[str]:
    """Pass all texts in a folder through every door of a server over a new data folder, and count them."""
    counts: Counter[str] = Counter()
    servers = [Served(data, PATIENT).start()]
    doors = Doors(servers[0])
    try:
        done = run_cstp("ingest", folder, "--json", "--data-dir", data, cwd=data.parent)
        summary = json.loads(done.stdout)
        counts |= Counter({f"records of files, {name}": summary[name] for name in ("read", "new")})
        counts["records of files, rejected"] = len(summary["rejected"])
        for reason, number in Counter(one["reason"] for one in summary["rejected"]).most_common(20):
            sys.stdout.write(f"rejected {number}: {reason[:200]}\n")
        forms = [form for form in new_records() if form.name in FORMS]
        for text in texts_of(folder, counts):
            counts["texts"] += 1
            for form in forms:
                doors.check(form, given_text(form, text, counts["texts"]))
                counts["records of calls"] += 1

        def serve(data_dir: Path) -> Served:
            servers[-1].terminate()
            servers.append(Served(data_dir, PATIENT).start())
            return servers[-1]

        check_folder(doors, serve)
        counts["values refused by name"] = doors.refused
    except AssertionError:
        sys.stderr.write(servers[-1].last_log())
        raise
    finally:
        doors.client.close()
        servers[-1].kill()
    return counts


def main(folder: str) -> None:
    """Run all texts of a folder and print the counts."""
    began = monotonic()
    with TemporaryDirectory() as work:
        counts = run(Path(folder).absolute(), Path(work) / "data")
    figures = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    sys.stdout.write(f"{folder}, {monotonic() - began:.0f} s: {figures}\n")


if __name__ == "__main__":
    main(sys.argv[1])
