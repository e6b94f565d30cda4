"""`examples/two_agents` as its page says: run whole, on ports of the test's own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.conftest import ROOT
from tests.stores import free_port

EXAMPLE = ROOT / "examples" / "two_agents"


@pytest.mark.long("starts two agents")
@pytest.mark.timeout(300)  # six programs one after another, on a machine that may be busy
def test_two_agents_ask_each_other_and_get_the_answers_that_the_page_shows(tmp_path: Path) -> None:
    folder = tmp_path / "two_agents"
    shutil.copytree(EXAMPLE, folder)
    for port in ("8101", "8102"):
        own = str(free_port())
        for file in (folder / "agents.yaml", folder / "run.sh"):
            file.write_text(file.read_text().replace(port, own))
    around = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
    # by words alone: a model takes its time to load in each of them
    around |= {"CSTP_EMBEDDING__MODEL": "none", "TMPDIR": str(tmp_path)}
    around["PATH"] = f"{Path(sys.executable).parent}:{around['PATH']}"
    command = ["sh", str(folder / "run.sh")]
    done = subprocess.run(command, env=around, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^```text\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert done.stdout.endswith(shown[0])
    assert [path.name for path in tmp_path.iterdir()] == ["two_agents"]
