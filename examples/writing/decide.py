"""An agent that asks, decides, is reviewed, and asks again."""

import os

from cstp import Client, Filters

QUESTION = "how are orders stored"
# one token for each agent, of CSTP_URL
builder, reviewer, lead = (Client(token=os.environ[f"{name}_TOKEN"]) for name in ("BUILDER", "REVIEWER", "LEAD"))

known = [decision.title for decision in builder.query_decisions(QUESTION).decisions]
print(f"builder asks: {QUESTION}?", *(known or ["nothing known"]))

first = builder.record_decision(
    "Keep orders in SQLite",
    0.7,
    context="Orders are few, and one machine serves all.",
    reasons=[{"type": "analysis", "text": "One file is copied and restored with what is there."}],
    alternatives=[{"option": "PostgreSQL", "why": "One more service to run."}],
    review_in="2w",
)
print(f"builder records: Keep orders in SQLite ({first.status}, confidence 0.7)")

reviewer.review_decision(first.id, "partial", lessons="Two writers block each other.")
print("reviewer reviews: partial, two writers block each other")

(found,) = builder.query_decisions(QUESTION).decisions
print(f"builder asks again: {found.title} turned out {found.outcome}")

second = builder.record_decision("Keep orders in PostgreSQL", 0.85, supersedes=[first.id], context="Two writers.")
print("builder records: Keep orders in PostgreSQL, which supersedes it")
lead.set_status(second.id, "accepted", "Agreed after the review.")
print("lead accepts: Keep orders in PostgreSQL")

# what is superseded is left out
(holds,) = builder.query_decisions(QUESTION, filters=Filters(current=True)).decisions
print(f"builder asks what holds: {holds.title} ({holds.status})")
