"""Rules of files: read, reread with other content, and removed."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from cognition_engines.ingest.options import Options
from tests.chaos.machine.base import AGENTS, Base, rights, server
from tests.chaos.machine.model import LEVELS, Known


class Ingesting(Base):
    """Rules of files: read, reread with other content, and removed."""

    @rule(door=server, number=st.integers(0, 4), rights=rights, same=st.booleans(), accepted=st.booleans())
    def ingest(self, door: int, number: int, rights: dict[str, Any], same: bool, accepted: bool) -> None:
        file = self.file(number)
        known = next((one for one in self.model.decisions.values() if one.file == file.stem), None)
        word = known.word if known is not None and same else self.new_word()
        status = "accepted" if accepted else "proposed"
        content = {
            "id": file.stem,
            "title": f"Choose {word}",
            "status": status,
            "date": "2024-03-01",
        } | rights
        file.write_text(json.dumps(content) + "\n")
        summary = self.doors.ingest(door, [file], Options())
        self.calls[0] += 1
        assert not summary.rejected, summary
        level = LEVELS.index(rights.get("sensitivity", "normal"))
        if known is None:
            (id,) = set(self.doors.ids()) - set(self.model.decisions)
            rest = (rights.get("project"), level, None, "2024-03-01T00:00:00Z", status)
            known = Known(id, word, {"confidence": None}, *rest, file=file.stem)
            self.model.decisions[id] = known
            assert summary.new == 1
        else:
            before = (known.word, known.project, known.level, known.status)
            after = (word, rights.get("project"), level, status)
            known.revision += before != after
            assert summary.changed == (before != after)
            self.model.gone.add(known.word)
            known.word, known.project, known.level, known.status = after
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], known.id)

    @precondition(lambda self: self.of_files())
    @rule(door=server, number=st.integers(0, 4))
    def prune(self, door: int, number: int) -> None:
        known = self.of_files()[number % len(self.of_files())]
        file = self.doors.folder / "docs" / f"{known.file}.jsonl"
        file.unlink()
        self.doors.ingest(door, [file.parent], Options(prune=True))
        self.calls[0] += 1
        self.model.remove(known)
        self.look(door, AGENTS["boss"], known.id)

    def of_files(self) -> list[Known]:
        return [one for one in self.model.decisions.values() if one.file]

    def file(self, number: int) -> Path:
        folder = self.doors.folder / "docs"
        folder.mkdir(exist_ok=True)
        return folder / f"file-{number}.jsonl"
