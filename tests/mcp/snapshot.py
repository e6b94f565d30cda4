"""Writer of the listed tools, for the test that compares them: `python -m tests.mcp.snapshot`."""

import json
from pathlib import Path

from cstp_server.mcp.tools import TOOLS

listed = {name: tool.as_listed().model_dump(by_alias=True, exclude_none=True) for name, tool in TOOLS.items()}
Path(__file__).with_name("tools.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
