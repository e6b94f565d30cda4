"""What the tokens of three agents are refused."""

import os

from cstp import Client, Forbidden, InvalidParams

builder, reviewer, lead = (Client(token=os.environ[f"{name}_TOKEN"]) for name in ("BUILDER", "REVIEWER", "LEAD"))
own = builder.record_decision("Send invoices at night", 0.6)

try:
    reviewer.record_decision("Send invoices at noon", 0.6)
except Forbidden as error:
    print(f"reviewer may not record: needs the scope {error.scope}")

try:
    builder.review_decision(own.id, "success")
except Forbidden as error:
    print(f"builder may not review: needs the scope {error.scope}")

try:
    builder.set_status(own.id, "accepted", "It is good.")
except Forbidden as error:
    print(f"builder may not accept its own decision: needs the scope {error.scope}")

try:
    builder.record_decision("Pay everybody twice", 0.9, agent_id="lead")
except InvalidParams as error:
    print("builder may not write as lead:", *(f"{one.field} {one.message}" for one in error.violations))

# a key of one's own, such as the id of a CI job, makes a call that is sent twice one decision
twice = [lead.record_decision("Close the books monthly", 0.9, idempotency_key="job-17") for _ in range(2)]
print(f"lead sent one call twice: recorded {'once' if twice[0].id == twice[1].id else 'twice'}")
