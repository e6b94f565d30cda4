"""Family 7: almost-JSON bytes and almost-HTTP heads."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.chaos.fuzzing import FAMILY, Report, Target, mutated, seeds
from tests.chaos.hostile_heads import hostile_request
from tests.chaos.json_documents import documents
from tests.chaos.wire import (
    CANARY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Answer,
    check_reply,
    parse_answer,
    reply_code,
    split_answers,
)

DOCUMENTS = documents()
STATUSES = {200, 204, 400, 401, 403, 404, 405, 413, 415, 429, 431, 503}


def test_mutated_bytes_are_read_as_by_a_strict_parser(target: Target, chaos_scale: Any, chaos_report: Report) -> None:
    bodies, random = seeds(), Random(None if chaos_scale.long else 1)
    count, group = chaos_scale.pick(1000, 60_000), 100
    for _ in range(0, count, group):
        target.check([mutated(random.choice(bodies), bodies, random) for _ in range(group)])
    requests, seen = target.settle()
    what = "right bodies with a few bytes, tokens or parts changed"
    chaos_report(FAMILY, what, requests, f"read as another strict parser reads them; {seen}")


def test_the_documents_are_318_and_agree_with_the_standard_library_on_decided_ones() -> None:
    assert Counter(each.verdict for each in DOCUMENTS) == {"taken": 95, "refused": 188, "open": 35}
    assert len({each.data for each in DOCUMENTS}) == 318
    assert [each.data for each in DOCUMENTS if each.verdict != "open" and is_json(each.data) != each.taken] == []


def is_json(data: bytes) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(data.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def test_each_document_gets_its_verdict_alone_and_as_a_parameter(target: Target, chaos_report: Report) -> None:
    alone = [each.data for each in DOCUMENTS]
    inside = [
        b'{"jsonrpc":"2.0","id":"' + CANARY.encode() + b'","method":"cstp.whoami","params":{"value":' + data + b"}}"
        for data in alone
    ]
    answers, _ = target.check([*alone, *inside])
    codes = [reply_code(one) for one in map(first_reply, answers)]
    wrong = [
        f"{each.data[:100]!r}: {alone_code} alone, {inside_code} as a parameter"
        for each, alone_code, inside_code in zip(DOCUMENTS, codes, codes[len(alone) :], strict=False)
        if alone_code != (INVALID_REQUEST if each.taken else PARSE_ERROR)
        or inside_code != (INVALID_PARAMS if each.taken_inside else PARSE_ERROR)
    ]
    assert wrong == []
    what = "JSON documents (95 valid, 188 invalid, 35 where readers differ), each as a body and as a parameter"
    chaos_report(FAMILY, what, len(answers), "each taken or refused as RFC 8259 and the protocol say")


def first_reply(answer: Answer) -> Any:
    document = parse_answer(answer.body)
    return document[0] if isinstance(document, list) else document


def test_hostile_heads_are_never_echoed(target: Target, chaos_scale: Any, chaos_report: Report) -> None:
    random, count = Random(None if chaos_scale.long else 3), chaos_scale.pick(300, 10_000)
    requests = [hostile_request(target.server.token, random) for _ in range(count)]
    statuses: Counter[int] = Counter()
    for at in range(0, count, 50):
        group = requests[at : at + 50]
        for sent, received in zip(group, target.pipes.each_alone(group), strict=True):
            statuses.update(check_whatever_came(received, sent, target.server.token))
    assert {200, 400, 401, 405, 415} <= set(statuses)
    seen = ", ".join(f"{status} {times:,}" for status, times in sorted(statuses.items()))
    target.settle()
    chaos_report(FAMILY, "requests with hostile lines and headers, each on its own connection", count, seen)


def check_whatever_came(received: bytes, sent: bytes, token: str) -> Iterator[int]:
    """Yield statuses received before the connection ended: complete answers, none with caller data."""
    try:
        assert CANARY.encode() not in ECHOED_QUERY.sub(b"", received), "repeats what was sent"
        assert token.encode() not in received, "repeats the token"
        for answer in split_answers(received):
            assert answer.status in STATUSES, f"status {answer.status}"
            if answer.headers.get("content-type") == "application/json" and answer.body:
                document = parse_answer(answer.body)
                if "status" not in document:  # bodies of /healthz and /readyz
                    check_reply(document)
            yield answer.status
    except AssertionError as error:
        raise AssertionError(f"{error}\nsent: {sent[:3000]!r}\ngot: {received[:3000]!r}") from None


ECHOED_QUERY = re.compile(rb'"query":"' + CANARY.encode() + rb'"')
