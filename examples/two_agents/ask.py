"""Shop asks billing, and billing asks shop, each with its own token at the other's server."""

from pathlib import Path

from cstp.agents import AgentRegistry

QUESTIONS = [
    ("shop", "billing", "how long does a refund take to reach the card"),
    ("billing", "shop", "from when on is an order final"),
]

agents = AgentRegistry(Path(__file__).parent / "agents.yaml")
for asking, asked, question in QUESTIONS:
    with agents.client(asked) as client:
        found = client.query_decisions(question, limit=1)
        me = client.whoami().agent
    for decision in found.decisions:
        print(f"{me} asks {found.agent}: {question}?")
        print(f"  {decision.title} ({decision.status}, confidence {decision.confidence})")
    assert me == asking
