"""Searches decision records without a server, in three lines. `python examples/notebook.py [FOLDER [TEXT]]`."""

import sys
from pathlib import Path
from tempfile import mkdtemp

from cognition_engines.sync_engine import SyncEngine

folder = Path(mkdtemp())
records = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "decisions"
question = sys.argv[2] if len(sys.argv) > 2 else "why is there one database and not two"

engine = SyncEngine.open(f"sqlite:///{folder / 'records.sqlite'}", folder / "indexes")
engine.ingest([records])
found = engine.query_decisions(question)

for match in found.decisions:
    print(f"{match.distance:.2f}  {match.status or '-':10}  {match.title}")
engine.close()
