"""An agent that looks before it decides, over MCP.

    export CSTP_TOKEN=$(cstp token create --agent builder --quiet)
    python examples/mcp_agent/agent.py 'http://127.0.0.1:8100/mcp?tools=all' "how should we store the records"

It asks for earlier decisions, warnings and passages about a question, and prints a brief. Where an agent has a model,
the brief goes into its prompt; here it is printed. Needs the SDK: pip install "mcp>=2.3".
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


class Refused(Exception):
    """A tool answered with an error; the message is its body."""


async def ask(client: Client, tool: str, **arguments: Any) -> Mapping[str, Any]:
    """The structured result of a tool. Raises Refused."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise Refused("".join(getattr(content, "text", "") for content in result.content))
    return result.structured_content or {}


def decision_line(decision: Mapping[str, Any]) -> str:
    """What was decided, whether it still holds, and what its text says about the question."""
    later = "".join(f", superseded by {id}" for id in decision["links"]["superseded_by"])
    why = " ".join(decision["snippet"].split())
    return f"decided ({decision['status']}{later}): {decision['title']} [{decision['id']}] {why}".rstrip()


async def brief(client: Client, question: str) -> Iterator[str]:
    """What is known about a question, as lines to read."""
    decided = await ask(client, "query_decisions", query=question, limit=3)
    read = await ask(client, "search_knowledge", query=question, limit=3)
    topics = sorted({topic for one in read["results"] for topic in one["topics"]})
    warned = [await ask(client, "get_warnings", topic=topic, limit=1) for topic in topics]
    return iter(
        [
            f"# {question}",
            *map(decision_line, decided["decisions"]),
            *(f"read: {one['title']} [{one['id']}]" for one in read["results"]),
            *(f"beware: {one['title']} [{one['id']}]" for page in warned for one in page["results"]),
        ]
    )


async def main(url: str, question: str) -> int:
    headers = {"Authorization": f"Bearer {os.environ['CSTP_TOKEN']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        try:
            lines = await brief(client, question)
        except Refused as refused:
            body = json.loads(str(refused))
            sys.stderr.write(f"refused: {body['error']}\n")
            return 1
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
