"""Writes a site: what a token may see, as files that need no server."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic_core import to_json

from cstp.client.methods import Methods
from cstp.fields import format_instant
from cstp_server.ui.assets import static_folder
from cstp_server.ui.site_data import DataFiles, script
from cstp_server.ui.site_folder import replaced
from cstp_server.ui.site_page import write_page
from cstp_server.ui.site_records import Counts, SiteKind, Steps, write_records


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """What a site holds, and how large it is."""

    counts: Counts
    files: int
    bytes: int


def write_site(
    methods: Methods, folder: Path, title: str | None, kinds: frozenset[SiteKind], steps: Steps
) -> WrittenSite:
    """Write the answers of `methods` into `folder`, all or nothing. The default title is the agent's name.

    With a clearance above normal, only the owner of the files can read them.

    Raises FolderRefused, CstpError, OSError, and what `methods` raise where no answer comes.
    """
    caller = methods.whoami()
    agent = caller.server
    with replaced(folder, private=caller.clearance != "normal") as new:
        data = new / "data"
        data.mkdir()
        files = DataFiles(data)
        counts = write_records(methods, kinds, files, steps)
        about = {
            "title": title or agent.agent,
            "agent": agent.agent,
            "version": agent.version,
            "written": format_instant(datetime.now(UTC).replace(microsecond=0)),
            "counts": asdict(counts),
            "files": files.close(),
        }
        (data / "about.js").write_text(script("about", 0, f"[{to_json(about).decode()}]"), encoding="utf-8")
        write_page(static_folder(), new, title or agent.agent)
        sizes = [path.stat().st_size for path in new.rglob("*") if path.is_file()]
    return WrittenSite(counts, len(sizes), sum(sizes))
