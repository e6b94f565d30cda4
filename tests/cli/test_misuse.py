"""Commands that cannot be carried out as they are written: one line says why, and nothing is made."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LONG = "x" * 201
ONE_LINE = "must be one line of text, not blank, of at most 200 characters"
CLASS = "pattern 1 has a class of characters by name, which is not known: '[[:upper:]]*'"
SERVER = "http://127.0.0.1:1"
USER = "http://u:canary5b1f@127.0.0.1:1"
ADDRESS = "must read like chroma:http://host:8000/collection or chroma:PATH/collection"
REACHED = "can be reached from other machines and there is no live token; create one first: cstp token create"
NOTED = "--noted: must be a number, a colon and 64 hexadecimal digits in lower case"
MISUSES = {
    # commands and options
    "fly": "no such command 'fly'; see: cstp --help",
    "serch": "no such command 'serch', did you mean search?; see: cstp --help",
    "token fly": "no such command 'fly'; see: cstp token --help",
    "token": "missing command; see: cstp token --help",
    "show": "missing argument 'ID'; see: cstp show --help",
    "status --colour": "no such option: --colour; see: cstp status --help",
    "status --config nowhere.yaml": "nowhere.yaml: no such settings file",
    "schema poem": "no schema for 'poem'",
    "record It --confidence 1 --data-dir d": "no such option: --data-dir. `cstp record` asks a server: give --url, or "
    "start one with `cstp serve --data-dir FOLDER`; see: cstp record --help",
    "remember It --data-dir=d": "`cstp remember` asks a server: give --url, or start one with `cstp serve --data-dir",
    "call cstp.getStats --config c.yaml": "`cstp call` asks a server: give --url, or start one with `cstp serve --data",
    "reindex --record d --keep-vectors": "--record: cannot be combined with --keep-vectors",
    "completion csh": "'csh' is not one of 'bash', 'zsh', 'fish'",
    # what is read
    "ingest": "missing argument 'PATH'; see: cstp ingest --help",
    "ingest nowhere": "PATH: nowhere does not exist; see: cstp ingest --help",
    "ingest . --sensitivity secret": "--sensitivity: must be one of normal, sensitive, highly_sensitive",
    "ingest . --project '  '": f"--project: {ONE_LINE}",
    "ingest . --project 'a\nb'": f"--project: {ONE_LINE}",
    f"ingest . --project {LONG}": f"--project: {ONE_LINE}",
    "ingest docs --repository ''": f"--repository: {ONE_LINE}",
    "ingest . --colour": "no such option: --colour",
    "ingest docs --name a.md": "--name: must be a file name, and requires - among the paths",
    "ingest - --name 'a\nb'": "--name: must be a file name",
    "ingest docs --kind talk": "'talk' is not one of 'decision', 'document', 'transcript'",
    "ingest docs --as poem": "'poem' is not one of",
    "ingest . --decision-folder docs/adr": "--decision-folder: must be the name of a folder, not a path",
    "ingest docs --include '*.md' --include !": "--include: pattern 2 is none of a .gitignore: '!'",
    "ingest docs --exclude '*.md' --exclude !": "--exclude: pattern 2 is none of a .gitignore: '!'",
    "ingest docs --include '[[:upper:]]*'": f"--include: {CLASS}",
    "ingest docs --exclude '[[:upper:]]*'": f"--exclude: {CLASS}",
    "ingest docs --limit 4 --prune": "--limit: cannot be combined with --prune",
    "ingest docs --limit 0": "'--limit': Input should be greater than or equal to 1",
    f"ingest docs --prune --url {SERVER}": "--prune: cannot be combined with --url",
    f"ingest docs --strict --url {SERVER}": "--strict: needs one transaction, which --url cannot give",
    "ingest chroma:nowhere/notes": "chroma:nowhere/notes: ",
    "ingest chroma:http://host:8000": f"chroma:http://host:8000: {ADDRESS}",
    "ingest chroma:": f"chroma:: {ADDRESS}",
    "ingest mongodb://ana:canary@host/ docs": "an address of mongodb must read like mongodb://host",
    "ingest --map none.yaml docs": "none.yaml: no map can be read there",
    "ingest --map wrong.yaml docs": "wrong.yaml, line 2: 'field' is no key of an entry of records",
    "watch nowhere": "PATH: nowhere does not exist",
    "watch docs --exclude !": "--exclude: pattern 1 is none of a .gitignore: '!'",
    f"watch docs --prune --url {SERVER}": "--prune: cannot be combined with --url",
    "map --suggest none.json": "--suggest: none.json does not exist",
    "map --suggest empty.json": "empty.json: no object is in it that could become a record",
    "map --suggest broken.json": "broken.json, line 1: not valid JSON",
    "map --suggest chroma:http://localhost:8000/notes": "a Chroma collection is read without a map",
    "map --suggest good.json --map none": "none: no map can be read there",
    # files that are moved
    "copy": "missing option '--to'",
    "export": "FILE: give a FILE, or --decisions DIR",
    "export a.jsonl --decisions adr": "FILE: give a FILE, or --decisions DIR",
    "export a.jsonl --project shop": "--project: requires --decisions",
    "export --decisions adr --kind decision": "--kind: cannot be combined with --decisions",
    "export a.jsonl --kind poem": "--kind: must be one of decision, source",
    "import absent.jsonl": "FILE: absent.jsonl: No such file or directory",
    "import .": "FILE: .: is no file but a folder",
    "import /dev/zero": "/dev/zero: is no file but a device",
    "import pipe": "pipe: is no file but a named pipe, which is not read: give it as standard input",
    "restore nowhere": "file 'nowhere' does not exist",
    "restore .": "file '.' is a directory",
    "restore letter": "letter is no backup of this program",
    "restore pipe": "pipe is no backup of this program",
    "restore /dev/zero": "/dev/zero is no backup of this program",
    # what is sent
    "call": "missing argument 'METHOD'",
    "call cstp.whoami query": "KEY=VALUE: 'query' must be key=text or key:=json",
    "call cstp.whoami =x": "KEY=VALUE: '=x' must be",
    "call cstp.whoami limit:=ten": "limit: the value after := is not JSON",
    "call cstp.whoami limit:=NaN": "limit: the value after := is not JSON",
    "call cstp.whoami limit:=1e400": "limit: the value after := is not JSON",
    'call cstp.whoami name:="\\ud800"': "name: the value after := is not JSON",
    "call cstp.whoami a=1 a:=1": "a is given twice",
    "call cstp.whoami --timeout 0": "'--timeout': Input should be greater",
    "call cstp.whoami --url nonsense": "--url: must read like http://host:8100",
    f"call cstp.whoami --url {USER}": "--url: must not contain a user; use --token or CSTP_TOKEN",
    "call cstp.whoami --token naïve": "--token: must be printable ASCII",
    "call cstp.whoami --params nowhere": "--params: nowhere: No such file or directory",
    f"call cstp.recall --params /dev/zero --url {SERVER}": "/dev/zero: must have at most 16,777,216 bytes",
    f"status {USER}": "URL: must not contain a user; use --token or CSTP_TOKEN",
    f"conform {USER}": "URL: must not contain a user; use --token or CSTP_TOKEN",
    f"conform {SERVER} --holds poems.jsonl": "--holds: must be decisions.jsonl",
    f"conform {SERVER} --set novalue": "--set: 'novalue' must be NAME=VALUE",
    f"conform {SERVER} --set a=1 --set a=2": "--set: 'a=2' must be NAME=VALUE, each name once",
    f"conform {SERVER} --timeout 0": "'--timeout': Input should be greater",
    f"conform {SERVER} naïve": "--token: must be printable ASCII",
    "mcp --url nonsense": "--url: url must read like http://host:8100",
    f"mcp --url {SERVER} --agent me": "--url: requires a token in CSTP_TOKEN, without --agent",
    "record": "required without a terminal: confidence, decision",
    "record 'Bake rye' --reason 'it lasts'": "--reason: 'it lasts' must be TYPE:TEXT",
    "record 'Bake rye' --confidence 1 --set confidence:=1": "confidence: given twice",
    "changes --since yesterday": "--since: must be a number, or now",
    # bytes that are not UTF-8, as Python reads them
    "record 'bad \udcff byte' --confidence 0.5": "DECISION: must be UTF-8; byte 0xff after 4 characters is not",
    "remember \udced\udca0\udc80": "TEXT: must be UTF-8; byte 0xed after 0 characters is not",
    "remember It --title a\udc80": "--title: must be UTF-8",
    "call cstp.whoami a=\udcff": "KEY=VALUE: must be UTF-8",
    "search why --path \udcff": "--path: must be UTF-8",
    "context why --file \udcff": "--file: must be UTF-8",
    "show \udcff": "ID: must be UTF-8",
    "delete dec_1 \udcff": "ID: must be UTF-8",
    "token create --agent \udcff": "--agent: must be UTF-8",
    # operators
    "token create": "missing option '--agent'",
    "token create --agent ''": "--agent must be 1 to 128 printable characters",
    "token create --agent a --scope root": "--scope 'root' is not one of",
    "token create --agent a --expires soon": "--expires must be a lifetime such as",
    "token create --agent a --expires 0d": "--expires must be a lifetime such as",
    "token create --agent a --expires 99999d": "--expires must be a lifetime such as",
    "token create --agent a --clearance top": "--clearance must be one of",
    "token create --agent a --project ' '": "--project must not be blank",
    "audit list": "data holds no records yet",
    "audit list --since soon": "--since: must be an ISO 8601 timestamp",
    "audit list --limit 0": "--limit: must be at least 1",
    "audit list --before 0": "--before: must be at least 1",
    "audit list --id ' '": "--id: must not be blank",
    "audit verify --noted 5": NOTED,
    "audit verify --noted 5:abc": NOTED,
    f"audit verify --noted -1:{'0' * 64}": NOTED,
    f"audit verify --noted x:{'0' * 64}": NOTED,
    "serve --port many": "'--port': Input should be a valid integer",
    "serve --port 0 --host 0.0.0.0": f"server.host: 0.0.0.0 {REACHED}",
    "serve --port 0 --host ::": f"server.host: :: {REACHED}",
    "serve --port 0 --data-dir /proc/none": "/proc/none: cannot be made; give another folder with --data-dir",
    "serve --ssl-keyfile key.pem": "server.ssl_keyfile: requires server.ssl_certfile (from flag)",
}


@pytest.mark.usefixtures("wordless")
@pytest.mark.parametrize("line", MISUSES)
def test_misuse_is_one_line_with_exit_code_2(cstp: Callable[..., Any], line: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("CSTP_TOKEN", "cstp_a_b")
    Path("docs").mkdir()
    os.mkfifo("pipe")
    Path("letter").write_text("dear all")
    Path("empty.json").write_text("[]")
    Path("broken.json").write_text('{"a": [')
    Path("good.json").write_text('[{"id": 1, "text": "The pilot waits for high water."}]')
    Path("wrong.yaml").write_text("records:\n- {kind: artifact, field: {}}\n")
    done = cstp(*shlex.split(line))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("cstp: ")
    assert MISUSES[line] in done.err
    assert ("; see: cstp " in done.err) == done.err.startswith(
        ("cstp: invalid value", "cstp: missing", "cstp: no such")
    )
    assert "canary" not in done.err
    assert not Path("data").exists()


def test_a_name_of_a_file_may_be_any_bytes(cstp: Callable[..., Any]) -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# Oven")
    assert cstp("ingest", "docs").code == 0
    assert cstp("export", "\udcff.jsonl").code == 0
    assert cstp("import", "\udcff.jsonl").code == 0
