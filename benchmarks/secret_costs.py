"""The cost of the look for secrets: CPU time of a write with it against one without, and per byte of a text.

    python -m benchmarks.secret_costs

Writes with the policies mask and allow take turns over two stores; `allow` is the control. Hostile texts are repeated
beginnings of secrets, at sizes up to the largest body of a call, against the same text of 4 KiB.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from cognition_engines.embedding.open import EmbeddingChoice
from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.masking.masked_values import load_rules
from cognition_engines.masking.policy import SecretPolicies, SecretPolicy
from cognition_engines.masking.scanner import find_secrets
from cognition_engines.models import EVERYTHING
from cognition_engines.writing.requests import WriteCaller
from cognition_engines.writing.writer import check_secrets
from cstp.values.decision_writes import GivenAlternative, GivenReason, RecordDecisionParams

ROUNDS: Final = 60
SIZES: Final = (4096, 32_768, 262_144, 1_048_576)
PLAIN: Final = "The team keeps all records in one SQLite file, since it is copied and restored by one command. "
HOSTILE: Final = (
    'password" : "',
    "password: ",
    "password is ",
    "password:",
    'password: \\"',
    "Private-Lines: 1\n",
    'password = "a1b2c3d4e5f6g7h8" ',
    "aws_secret_access_key = ",
    "authorization: bearer ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "http://u:",
    "cookie: sid=",
    "eyJhbGciOiJIUzI1NiJ9.",
    "x",
)
WRITER: Final = WriteCaller("bench", EVERYTHING, frozenset({"read", "write"}))


@dataclass(frozen=True, slots=True)
class WriteCost:
    """Median CPU milliseconds of a write under each policy, and of the look alone."""

    model: str
    mask: float
    allow: float
    look: float

    def __str__(self) -> str:
        share = f"{self.look / self.allow:.1%}"
        return f"| {self.model} | {self.allow:.2f} | {self.mask:.2f} | {self.look:.3f} | {share} |"


def a_decision(number: int) -> RecordDecisionParams:
    """Return a decision of usual size: 1,000 characters in ten texts."""
    return RecordDecisionParams(
        decision=f"Keep the records of part {number} in SQLite",
        confidence=0.8,
        context=PLAIN * 4,
        reasons=[GivenReason(type="analysis", text=PLAIN * 2), GivenReason(type="constraint", text=PLAIN)],
        alternatives=[
            GivenAlternative(option="PostgreSQL", why=PLAIN),
            GivenAlternative(option="files", why=PLAIN),
        ],
        tags=["storage", f"part-{number}"],
        trace={"steps": [{"thought": PLAIN}]},
    )


def cpu(action: Callable[[], object]) -> float:
    """Return the CPU milliseconds of an action in all threads of this process."""
    start = time.process_time()
    action()
    return (time.process_time() - start) * 1000


def measure_writes(folder: Path, model: EmbeddingChoice | None) -> WriteCost:
    """Return the costs of writes, in turns over two stores."""
    found: dict[SecretPolicy, list[float]] = {"mask": [], "allow": []}
    look: list[float] = []
    engines = {
        policy: Engine.open(
            f"sqlite:///{folder / policy}.sqlite3",
            folder / policy,
            model,
            EngineOptions(secrets=SecretPolicies(agents=policy)),
        )
        for policy in found
    }
    policies = SecretPolicies()
    with asyncio.Runner() as runner:
        for number in range(ROUNDS):
            for policy, engine in engines.items():
                request = a_decision(number)
                found[policy].append(cpu(lambda: runner.run(engine.record_decision(request, WRITER))))  # noqa: B023
            look.append(cpu(lambda: check_secrets(a_decision(number), policies)))  # noqa: B023
    for engine in engines.values():
        engine.close()
    name = "none" if model is None else "minilm"
    return WriteCost(name, median(found["mask"]), median(found["allow"]), median(look))


def per_byte(unit: str, sizes: Sequence[int] = SIZES) -> list[float]:
    """Return the CPU nanoseconds for each byte of a text of each size."""
    texts = [(unit * (size // len(unit) + 1))[:size] for size in sizes]
    rounds = [max(1, 65_536 // size) for size in sizes]
    return [
        cpu(lambda: [find_secrets(text) for _ in range(times)]) * 1e6 / times / len(text)  # noqa: B023
        for text, times in zip(texts, rounds, strict=True)
    ]


def main() -> None:
    """Print two tables."""
    load_rules()
    out = sys.stdout
    print(
        "| model | write without, CPU ms | with | look alone | look / write without |\n|---|---|---|---|---|", file=out
    )
    for model in (EmbeddingChoice(), None):
        with TemporaryDirectory() as folder:
            print(measure_writes(Path(folder), model), file=out)
    print("\n| text | " + " | ".join(f"{size:,} bytes" for size in SIZES) + " | largest / smallest |", file=out)
    print("|---" * (len(SIZES) + 2) + "|", file=out)
    for unit in (PLAIN, *HOSTILE):
        found = per_byte(unit)
        shown = " | ".join(f"{one:,.0f}" for one in found)
        print(f"| `{unit[:30].strip()}` | {shown} | {found[-1] / found[0]:.2f} |", file=out)


if __name__ == "__main__":
    main()
