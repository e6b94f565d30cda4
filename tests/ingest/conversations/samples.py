"""Exports as their systems write them, with invented people and words."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.ingest.cases import packed_members

Json = dict[str, Any]
JANUARY = 1_704_067_200  # 2024-01-01T00:00:00Z


def packed(path: Path, members: Mapping[str, object]) -> Path:
    """Write an archive of members; anything but text and bytes is written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = {name: one if isinstance(one, str | bytes) else json.dumps(one) for name, one in members.items()}
    path.write_bytes(packed_members(texts))
    return path


def unpacked(folder: Path, members: Mapping[str, object]) -> Path:
    for name, content in members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def changed_at(path: Path, second: int) -> Path:
    """Set the time of the last change of a file, or of all files in a folder."""
    for each in [path, *path.rglob("*")]:
        os.utime(each, (JANUARY + second, JANUARY + second))
    return path


def slack_user(id: str, name: str, team: str = "T02A", **others: Any) -> Json:
    profile = {"title": "", "real_name": f"{name} Example", "display_name": name, "avatar_hash": "g1", "team": team}
    return {"id": id, "team_id": team, "name": name.lower(), "deleted": False, "profile": profile} | others


def slack_message(second: int, text: str, user: str = "U1", **others: Any) -> Json:
    ts = f"{JANUARY + second}.000{second:03}"
    block = {"type": "rich_text", "block_id": "x", "elements": []}
    return {"user": user, "type": "message", "ts": ts, "client_msg_id": f"c-{second}", "text": text, "team": "T02A",
            "user_team": "T02A", "source_team": "T02A", "blocks": [block]} | others  # fmt: skip


def slack(days: Mapping[str, list[Json]], channel: str = "C04GENERAL", name: str = "general") -> dict[str, object]:
    """Return an export with a public channel and a conversation of two people; `days` by `FOLDER/DATE`."""
    about = {"created": JANUARY, "creator": "U1", "is_archived": False, "is_general": True, "pins": []}
    return {
        "channels.json": [{"id": channel, "name": name, "members": ["U1", "U2"], "topic": {"value": ""}} | about],
        "dms.json": [{"id": "D05PAIR", "created": JANUARY, "members": ["U1", "U2"]}],
        "users.json": [slack_user("U1", "Ana"), slack_user("U2", "Bo"), slack_user("U3", "builder", is_bot=True)],
        "integration_logs.json": [{"user_id": "U1", "service_type": "ci", "change_type": "added"}],
        **{f"{day}.json": messages for day, messages in days.items()},
    }


def chatgpt_node(id: str, parent: str | None, role: str, *parts: object, **others: Any) -> Json:
    """Return a node of the tree; `others` are members of the message."""
    message = {
        "id": id, "author": {"role": role, "name": None, "metadata": {}}, "create_time": JANUARY + len(id) + 0.25,
        "update_time": None, "content": {"content_type": "text", "parts": list(parts)},
        "status": "finished_successfully", "end_turn": None, "weight": 1.0, "metadata": {}, "recipient": "all",
    } | others  # fmt: skip
    return {"id": id, "message": message, "parent": parent, "children": []}


def chatgpt(nodes: list[Json], current: str, id: str = "65-a", title: str = "Tides") -> Json:
    root = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {"root": root} | {node["id"]: node for node in nodes}
    for node in nodes:
        mapping[node["parent"]]["children"].append(node["id"])
    return {
        "title": title, "create_time": JANUARY, "update_time": JANUARY + 9, "mapping": mapping,
        "moderation_results": [], "current_node": current, "plugin_ids": None, "conversation_id": id, "id": id,
    }  # fmt: skip


def claude_message(id: str, sender: str, words: str, second: int = 0, **others: Any) -> Json:
    at = f"2024-01-01T00:00:{second:02}.500000Z"
    block = {"start_timestamp": at, "stop_timestamp": at, "type": "text", "text": words, "citations": []}
    return {"uuid": id, "text": words, "content": [block], "sender": sender, "created_at": at, "updated_at": at,
            "attachments": [], "files": []} | others  # fmt: skip


def claude(messages: list[Json], id: str = "7f-c", name: str = "Tides") -> Json:
    at = "2024-01-01T00:00:00.000000Z"
    return {"uuid": id, "name": name, "summary": "", "created_at": at, "updated_at": at, "account": {"uuid": "acc"},
            "chat_messages": messages}  # fmt: skip


def session_entry(id: str, role: str, content: object, parent: str | None = None, **others: Any) -> Json:
    """Return a line of a session of Claude Code."""
    return {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/ana/ferry",
        "sessionId": "9a-s", "version": "2.0.1", "gitBranch": "main", "type": role,
        "message": {"role": role, "content": content}, "uuid": id, "timestamp": f"2024-01-01T00:00:0{len(id)}.000Z",
    } | others  # fmt: skip


def mail(id: str, text: str, *headers: str, subject: str = "Berth plan", sender: str = "Ana <ana@x.example>") -> str:
    top = [f"From: {sender}", "To: Bo <bo@x.example>", f"Subject: {subject}", "Date: Mon, 1 Jan 2024 10:00:00 +0100",
           f"Message-ID: <{id}@x.example>", *headers]  # fmt: skip
    return "\n".join([*top, "", text, ""])


def mbox(*mails: str) -> str:
    return "\n".join(f"From ana@x.example Mon Jan  1 10:00:00 2024\n{each}" for each in mails)
