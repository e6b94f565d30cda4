"""`cstp` that on SIGUSR1 writes asyncio tasks and objects by type to the file named by CHAOS_LOOK."""

import asyncio
import gc
import json
import os
import signal
from collections import Counter
from pathlib import Path

from cstp_server.cli.entry import main


def look(*_: object) -> None:
    gc.collect()
    kinds = Counter(type(each).__qualname__ for each in gc.get_objects())
    target = Path(os.environ["CHAOS_LOOK"])
    unfinished = target.with_suffix(".part")
    unfinished.write_text(json.dumps({"tasks": len(asyncio.all_tasks()), "objects": dict(kinds.most_common(40))}))
    unfinished.replace(target)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, look)
    main()
