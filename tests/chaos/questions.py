"""Questions with known answers, and required properties of every answer during a fault."""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.asking import Answer, Request, again_and_again
from tests.chaos.store import GROUP, decision


@dataclass(frozen=True)
class Questions:
    """Questions about decisions base-0 to base-<count - 1>: a group's word, and a text nearest to itself."""

    count: int
    every: int = 23  # a question about every 23rd decision

    def __call__(self, number: int) -> Iterator[Request]:
        """Return the requests repeated by a caller."""
        return again_and_again(*self.requests())(number)

    def requests(self) -> list[Request]:
        found: list[Request] = []
        for number in range(0, self.count, self.every):
            one = decision(f"base-{number}")
            word, text = one.title.split()[2], f"{one.title}\n{one.text}"
            for mode, query, limit in (("keyword", word, 50), ("hybrid", word, 50), ("semantic", text, 1)):
                params = {"query": query, "mode": mode, "limit": limit}
                found.append({"method": "cstp.queryDecisions", "params": params})
        return found

    def whole(self, answer: Answer) -> bool:
        """Return whether a result is complete."""
        params: Any = answer.request["params"]
        decisions = answer.result["decisions"]
        if params["mode"] == "semantic":
            return [one["title"] for one in decisions] == [params["query"].split("\n")[0]]
        first = int(params["query"].removeprefix("groupbase")) * GROUP
        expected = {f"base-{number}" for number in range(first, min(self.count, first + GROUP))}
        return expected <= {one["id"] for one in decisions}

    def check(self, answers: Sequence[Answer], within: float, *parts: str) -> tuple[int, int]:
        """Check that every answer comes within `within` seconds, complete or refused for a part in `parts`; count each.

        A call waiting behind others on a hung part is refused as overloaded.
        """
        failed = 0
        for answer in answers:
            assert answer.seconds < within, answer
            if answer.result is None:
                assert answer.failed_part in parts or (parts and answer.overloaded), answer
                failed += 1
            else:
                assert self.whole(answer), answer
        return len(answers) - failed, failed


def refused(done: "subprocess.CompletedProcess[str]", reason: str) -> None:
    """Assert that a command failed with a line naming the records and the reason; the store's name may come before."""
    assert (done.returncode, done.stdout) == (1, ""), done
    *before, last = done.stderr.splitlines()
    assert last.startswith(f"cstp: records: {reason}: check that the database"), done.stderr
    assert all("; settings: " in line for line in before), done.stderr
    assert len(before) <= 1, done.stderr
