"""Runs of any length of generated texts through the doors: checks of each text, and the whole folder."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from hypothesis import given, strategies as st

from tests.chaos.fuzzing import examples
from tests.chaos.process import Served, run_cstp
from tests.chaos.values import Parameter, Path as Place, parameters, variants
from tests.text_doors import (
    Doors,
    Form,
    Slot,
    changes_of,
    check_transfers,
    is_shown,
    lines_of_files,
    new_records,
    texts_in,
)
from tests.texts import UNREADABLE, escapable, numbers, objects, texts, values

_FORMS: Final = {form.name: form for form in new_records()}
FORMS: Final = tuple(_FORMS)
CHANGES: Final = tuple(form.name for form in changes_of("", ""))
_REFUSED: Final = {-32602, -32007, -32011}  # by field, by id
_TOGETHER: Final = 10  # questions of an example
_PLAIN: Final[Mapping[str, Any]] = {"type": "person", "date": "2026-01-31", "outcome": "success", "metadata": {}}
_MARKED: Final = re.compile('"<([^<>"]{1,6000})>"')  # digits written by no JSON encoder of Python
_ENDINGS: Final = (".md", ".txt", ".yaml", ".json", ".jsonl", ".rst", ".html", ".csv", ".eml", ".mbox")
_AS_WRITTEN: Final = ("title", "content", "query", "narrative", "name", "text")


@dataclass(frozen=True)
class Unreadable:
    """A number outside JSON, or beyond a double."""

    digits: str


def _has_text(parameter: Parameter) -> bool:
    found = variants(parameter.schema, parameter.definitions)
    return any(one.get("type") == "string" and not {"enum", "const", "format"} & one.keys() for one in found)


def _other_parameters() -> Mapping[str, list[Parameter]]:
    """Return the text parameters by method; for writing methods only those without a form."""
    found = defaultdict(list)
    written = {
        (f"cstp.{form.method}", slot.field) for form in (*_FORMS.values(), *changes_of("", "")) for slot in form.slots
    }
    for one in parameters():
        if _has_text(one) and (one.method, one.field) not in written:
            found[one.method].append(one)
    return found


PARAMETERS: Final = _other_parameters()


@cache
def _values_of(slot: Slot) -> st.SearchStrategy[Any]:
    if slot.place[-1] == "metadata":
        return objects
    return {"text": texts, "json": values, "number": numbers}[slot.kind]


def _fillings(form: Form) -> st.SearchStrategy[dict[Place, Any]]:
    return st.fixed_dictionaries({slot.place: _values_of(slot) for slot in form.slots})


def write_texts(doors: Doors, name: str, count: int, *, fresh: bool) -> None:
    """Write records of a form, with a text in each field; count the texts."""
    form = _FORMS[name]

    @examples(count, fresh=fresh)
    @given(given=_fillings(form))
    def write(given: dict[Place, Any]) -> None:
        doors.check(form, given)

    write()


def change_with_texts(doors: Doors, name: str, count: int, *, fresh: bool) -> None:
    """Change decisions, with a text in each field."""
    (plain,) = (form for form in changes_of("", "") if form.name == name)

    @examples(count, fresh=fresh)
    @given(given=_fillings(plain))
    def change(given: dict[Place, Any]) -> None:
        first, second = (doors.ask("recordDecision", decision=one, confidence=0.5)["id"] for one in ("one", "two"))
        (form,) = (form for form in changes_of(first, second) if form.name == name)
        _, sent = doors.write(form, given)
        whole = set(texts_in(doors.ask("getDecision", id=first)))
        for place, value in sent.items():
            for text in texts_in(value):
                assert is_shown(text, whole), f"{form.name}: {place} of {first}: {text!r} not in {whole}"

    change()


def ask_with_texts(doors: Doors, method: str, count: int, *, fresh: bool) -> None:
    """Send texts in each parameter without a form; an answer is a result, or names the field or the id."""
    for parameter in PARAMETERS[method]:
        _ask(doors, parameter, count, fresh=fresh)


def _ask(doors: Doors, parameter: Parameter, count: int, *, fresh: bool) -> None:
    method = parameter.method.removeprefix("cstp.")

    @examples(count, fresh=fresh)
    @given(given=st.lists(texts, min_size=_TOGETHER, max_size=_TOGETHER))
    def ask(given: list[str]) -> None:
        doors.texts += len(given)
        plain, *replies = doors.send([(method, parameter.params(text)) for text in ("plain", *given)])
        others = _fields(plain.get("error", {}))  # required members of this method
        for text, reply in zip(given, replies, strict=True):
            if "result" not in reply:
                about = f"{parameter}: {text!r}: {reply['error']}"
                assert reply["error"]["code"] in _REFUSED, about
                fields = _fields(reply["error"])
                assert any(one.startswith(str(parameter.path[0])) for one in fields) or fields <= others, about

    ask()


def _fields(error: Mapping[str, Any]) -> set[str]:
    return {each["field"] for each in error.get("data", {}).get("violations", ())}


def ingest_texts(doors: Doors, folder: Path, count: int, *, fresh: bool) -> None:
    """Ingest a line of JSONL for each text; each is rejected by line and field, or stored."""
    lines: list[tuple[str, Slot]] = []
    for form in lines_of_files():
        _collect_lines(doors, form, lines, count, fresh=fresh)
    path = folder / "lines.jsonl"
    path.write_text("".join(f"{line}\n" for line, _ in lines), encoding="ascii")
    rejected = {one["line"]: one["reason"] for one in _ingest(doors, path)["rejected"]}
    for number, (line, slot) in enumerate(lines, 1):
        if number not in rejected:
            doors.ingested.append(json.loads(line)["metadata"]["word"])
        elif not rejected[number].startswith("not valid JSON"):
            assert str(slot.place[0]) in rejected[number], f"{rejected[number]}: {line}"


def _collect_lines(doors: Doors, form: Form, lines: list[tuple[str, Slot]], count: int, *, fresh: bool) -> None:
    @examples(count, fresh=fresh)
    @given(
        slot=st.sampled_from(form.slots),
        text=escapable,
        value=st.one_of(objects, numbers, st.sampled_from(UNREADABLE).map(Unreadable)),
    )
    def add(slot: Slot, text: str, value: Any) -> None:
        doors.texts += 1
        word = next(doors.words)
        filled = {each.place: _PLAIN.get(str(each.place[-1]), "plain") for each in form.slots}
        if ("conversation_id",) in filled:  # another turn than in calls
            filled["conversation_id",] = word
        filled[slot.place] = text if slot.kind == "text" else {"tried": value}
        filled["metadata",] = {**filled["metadata",], "word": word}
        filled[form.main.place] = f"{filled[form.main.place]} {word}"
        id = doors.texts if form.name == "episode" else word
        line = json.dumps(form.fill(filled) | {"id": id}, default=lambda given: f"<{given.digits}>")
        lines.append((_MARKED.sub(r"\1", line), slot))

    add()


def _ingest(doors: Doors, path: Path) -> Any:
    done = run_cstp("ingest", path, "--json", "--data-dir", doors.server.data_dir, cwd=path.parent)
    assert done.returncode in (0, 1), done.stderr[:3000]
    return json.loads(done.stdout)


def ingest_files(doors: Doors, folder: Path, count: int, *, fresh: bool) -> None:
    """Ingest a file of each format for each text, as raw bytes; each is named or stored, and none stops the run."""
    made: dict[str, str] = {}  # the word of each file

    @examples(count, fresh=fresh)
    @given(text=escapable, ending=st.sampled_from(_ENDINGS))
    def write(text: str, ending: str) -> None:
        doors.texts += 1
        path, word = folder / f"file-{len(made)}{ending}", next(doors.words)
        path.write_bytes(f"# {word}\n\n{text}\n".encode("utf-8", "surrogatepass"))
        made[str(path)] = word

    write()
    summary = _ingest(doors, folder)
    named = {one["file"] for one in (*summary["rejected"], *summary["warnings"])}
    read = [path for path in made if path not in named and Path(path).suffix not in summary["skipped"]]
    doors.ingested += [made[path] for path in read]


def check_folder(doors: Doors, serve: Callable[[Path], Served]) -> None:
    """Check that all records of a folder are listed, moved by exports and backups, and served by a new server."""
    folder = doors.server.data_dir
    listed = {
        "decision": doors.listed("listDecisions", "decisions"),
        "episode": doors.listed("listEpisodes", "episodes"),
        "artifact": (memories := doors.listed("listMemories", "memories")),
        "turn": memories,
    }
    for name, ids in listed.items():
        assert doors.ids.get(name, {}).keys() <= ids, name
    lines, doors.server = check_transfers(folder, serve)
    for word in doors.ingested:
        assert word.encode() in lines, f"{word} is not exported"
    some = [pair for ids in doors.ids.values() for pair in ids.items()]
    for id, word in Random(1).sample(some, min(len(some), 200)):
        found = doors.found(word)
        assert found, f"{id} is not found by {word} after a start"
