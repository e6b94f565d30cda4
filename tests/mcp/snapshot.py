"""`python -m tests.mcp.snapshot`: writes the tools as they are listed, for the test that compares them."""

import json
from pathlib import Path

from cstp_server.mcp.tools import TOOLS

listed = {name: tool.as_listed().model_dump(by_alias=True, exclude_none=True) for name, tool in TOOLS.items()}
Path(__file__).with_name("tools.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
