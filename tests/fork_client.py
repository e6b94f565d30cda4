"""Stand-in that a shell waits for and signals, for a `cstp` started by the fork server; ADDRESS precedes it."""

import json
import os
import signal
import socket
import sys

files = (0, 1, 2)
connection = socket.socket(socket.AF_UNIX)
connection.connect(ADDRESS)  # type: ignore[name-defined]  # noqa: F821
request = {
    "code": "from cstp_server.cli.entry import main; main()",
    "words": sys.argv[1:],
    "cwd": os.getcwd(),
    "environment": dict(os.environ),
    "ignored": [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is signal.SIG_IGN
    ],
    "adopted": False,
}
message = json.dumps(request).encode() + b"\n"
connection.sendall(message[socket.send_fds(connection, [message], files) :])
for file in files:
    os.close(file)  # lest a reader waits for this process
answers = connection.makefile("rb")
process = int(answers.readline())
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if number not in request["ignored"]:
        signal.signal(number, lambda number, _: os.kill(process, number))
code = int(answers.readline())
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
