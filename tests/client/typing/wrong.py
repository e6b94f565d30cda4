"""Invalid caller code; mypy must refuse exactly the marked lines, for the marked reason."""

from cstp import AsyncClient, Client, Filters, NoSuchName, calls  # error: attr-defined


def ask(client: Client, other: NoSuchName) -> None:
    client.query_decisions()  # error: call-arg
    client.query_decisions("why", Filters(), 3)  # error: call-arg
    client.query_decisions("why", limit="3")  # error: arg-type
    client.query_decisions("why", mode="fuzzy")  # error: arg-type
    client.query_decisions("why", filters={5: 0.5})  # error: dict-item
    client.query_decisions("why", filters="storage")  # error: arg-type
    client.query_decisions("why", include=["text"])  # error: list-item
    client.query_decisions("why", minConfidence=0.5)  # error: call-arg
    Filters(min_confidence="high")  # error: arg-type
    Filters(confidence=0.5)  # error: call-arg
    print(client.query_decisions("why").decisions[0].score)  # noqa: T201  # error: attr-defined
    client.get_outcome("dec_1")  # error: attr-defined
    client.batch([calls.whoami])  # error: arg-type
    client.whoami().expires_at.isoformat().days()  # error: attr-defined
    for episode in client.iter_episodes(limit=3):  # error: call-arg
        episode.model_dump()


async def ask_async(client: AsyncClient) -> None:
    client.whoami().model_dump()  # error: attr-defined
    async for episode in client.iter_episodes():
        episode.tags.append(episode.id)  # error: arg-type
