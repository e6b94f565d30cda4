"""Server with the reading part of MongoDB's protocol: real messages, scripted answers."""

import socket
import socketserver
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import bson

_MESSAGE, _QUERY, _REPLY = 2013, 2004, 1
_READY = {
    **{"ok": 1.0, "ismaster": True, "isWritablePrimary": True, "helloOk": True, "maxBsonObjectSize": 16_777_216},
    **{"maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "minWireVersion": 0, "maxWireVersion": 21},
    **{"readOnly": False},
}


@dataclass
class Mongo:
    """Databases by name, of collections by name. Every command that came, by its name.

    `fails` has the error of commands by their names; after `ends_after` answers to getMore the connection ends.
    """

    databases: dict[str, dict[str, list[dict[str, Any]]]]
    port: int = 0
    commands: list[str] = field(default_factory=list)
    fails: dict[str, dict[str, Any]] = field(default_factory=dict)
    ends_after: int | None = None
    payloads: list[bytes] = field(default_factory=list)  # of saslStart
    _open: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def address(self, name: str = "notes", user: str = "", options: str = "") -> str:
        return f"mongodb://{user}127.0.0.1:{self.port}/harbour.{name}{options}"

    def answer(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a command; None to end the connection."""
        name = next(iter(command))
        if name.lower() in ("ismaster", "hello"):
            return _READY
        self.commands.append(name)
        if name == "saslStart":
            self.payloads.append(command["payload"])
        if name in self.fails:
            return {"ok": 0.0, **self.fails[name]}
        collections = self.databases.get(str(command.get("$db")), {})
        match name:
            case "listCollections":
                names = [{"name": each, "type": "collection"} for each in collections]
                return {"ok": 1.0, "cursor": {"id": 0, "ns": "x.$cmd.listCollections", "firstBatch": names}}
            case "find":
                assert command["sort"] == {"_id": 1}
                found = sorted(collections.get(command["find"], []), key=lambda one: str(one["_id"]))
                return self._batch(command, found, command["find"], "firstBatch")
            case "getMore":
                if self.ends_after == self.commands.count("getMore") - 1:
                    return None
                return self._batch(command, self._open.pop(command["getMore"]), command["collection"], "nextBatch")
            case "count":
                return {"ok": 1.0, "n": len(collections.get(command["count"], []))}
        return {"ok": 1.0}

    def _batch(self, command: dict[str, Any], found: list[dict[str, Any]], name: str, batch: str) -> dict[str, Any]:
        most = command.get("batchSize", 101)
        id = len(self.commands) if found[most:] else 0
        if id:
            self._open[id] = found[most:]
        return {"ok": 1.0, "cursor": {"id": bson.Int64(id), "ns": f"{command['$db']}.{name}", batch: found[:most]}}


def _received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise ConnectionError
        found += part
    return found


def _serve(mongo: Mongo, connection: socket.socket) -> None:
    while True:
        length, id, _, code = struct.unpack("<iiii", _received(connection, 16))
        body = _received(connection, length - 16)
        if code == _QUERY:
            start = body.index(b"\0", 4) + 9
            head, reply_code = struct.pack("<iqii", 8, 0, 0, 1), _REPLY
        else:
            start, head, reply_code = 5, struct.pack("<iB", 0, 0), _MESSAGE
        size = struct.unpack_from("<i", body, start)[0]
        answer = mongo.answer(bson.decode(body[start : start + size]))
        if answer is None:
            return
        reply = head + bson.encode(answer)
        connection.sendall(struct.pack("<iiii", len(reply) + 16, 1, id, reply_code) + reply)


@contextmanager
def served(mongo: Mongo) -> Iterator[Mongo]:
    """The server while it listens."""

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            opened.append(self.request)
            with suppress(ConnectionError, OSError):
                _serve(mongo, self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = False

    opened: list[socket.socket] = []
    with Server(("127.0.0.1", 0), Connection) as server:
        mongo.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, args=[0.01], name=f"mongo-{mongo.port}")
        thread.start()
        yield mongo
        server.shutdown()
        thread.join()
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
