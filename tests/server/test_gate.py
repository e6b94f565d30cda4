"""Slots in flight: an agent's share, and the order of turns."""

import asyncio
from collections import Counter

import pytest

from cstp_server.limits.admission import AdmissionGate


def wait(gate: AdmissionGate, agent: str) -> "asyncio.Task[bool]":
    return asyncio.ensure_future(gate.enter(agent))


async def waiting(gate: AdmissionGate, number: int) -> None:
    """Wait until this many wait."""
    async with asyncio.timeout(20):
        while gate.waiting_calls != number:  # noqa: ASYNC110 - the gate has no event for it
            await asyncio.sleep(0)


async def held(gate: AdmissionGate, agent: str, number: int) -> None:
    for _ in range(number):
        assert await gate.enter(agent)


async def test_an_agent_has_at_most_half_of_the_slots_so_another_agent_need_not_wait() -> None:
    gate = AdmissionGate(8, 8)
    await held(gate, "greedy", 4)
    fifth = wait(gate, "greedy")
    await waiting(gate, 1)
    await held(gate, "modest", 4)
    assert (gate.running, gate.waiting_calls) == (8, 1)
    gate.leave("modest")
    assert not fifth.done()
    gate.leave("greedy")
    assert await fifth
    for agent in ("greedy",) * 4 + ("modest",) * 3:
        gate.leave(agent)
    assert gate.empty


async def test_places_are_handed_out_by_agent_in_turn() -> None:
    gate, order = AdmissionGate(1, 100), list[str]()
    await held(gate, "first", 1)

    async def come(agent: str) -> None:
        assert await gate.enter(agent)
        order.append(agent)
        gate.leave(agent)

    tasks = [asyncio.ensure_future(come(agent)) for agent in ["greedy"] * 20 + ["one"] * 3 + ["other"]]
    await waiting(gate, 24)
    gate.leave("first")
    await asyncio.gather(*tasks)
    assert order == ["greedy", "one", "other", "greedy", "one", "greedy", "one", *["greedy"] * 17]
    assert gate.empty


async def test_an_agent_filling_the_queue_makes_room_for_another_with_its_newest_request() -> None:
    gate = AdmissionGate(2, 10)
    await held(gate, "greedy", 1)
    await held(gate, "other", 1)
    greedy = [wait(gate, "greedy") for _ in range(10)]
    await waiting(gate, 10)
    assert not await gate.enter("greedy"), "the queue is full, and all of it is his"
    modest = [wait(gate, "modest") for _ in range(5)]
    await waiting(gate, 10)
    async with asyncio.timeout(20):
        assert await asyncio.gather(*greedy[5:]) == [False] * 5
    assert not await gate.enter("modest"), "half of the queue is his now"
    assert not any(task.done() for task in (*greedy[:5], *modest))
    for task in (*greedy, *modest):
        task.cancel()


async def test_without_a_queue_no_request_waits() -> None:
    gate = AdmissionGate(1, 0)
    await held(gate, "greedy", 1)
    assert not await gate.enter("modest")


async def test_an_overlong_wait_is_refused_and_a_vanished_waiter_leaves_no_slot_behind() -> None:
    gate = AdmissionGate(1, 10, patience=0.05)
    await held(gate, "greedy", 1)
    assert not await gate.enter("modest")
    gone = wait(gate, "modest")
    await waiting(gate, 1)
    gate.leave("greedy")  # hands the slot to a waiter cancelled before it can take it
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert gate.empty
    await held(gate, "greedy", 1)


async def test_no_more_requests_run_than_slots_for_any_mix_of_agents() -> None:
    gate, most, running = AdmissionGate(6, 1000), Counter[str](), Counter[str]()

    async def come(agent: str) -> None:
        assert await gate.enter(agent)
        running.update([agent, "all"])
        for name in (agent, "all"):
            most[name] = max(most[name], running[name])
        await asyncio.sleep(0)
        running.subtract([agent, "all"])
        gate.leave(agent)

    async with asyncio.timeout(20):
        await asyncio.gather(*(come(f"agent-{number % 5}") for number in range(500)))
    assert most["all"] == 6
    assert max(most[f"agent-{number}"] for number in range(5)) <= 3
    assert gate.empty
