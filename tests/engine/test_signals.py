"""The list of signals: each has an explanation, and at most one relevance setting."""

from dataclasses import fields, replace

from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.search.query import QueryParser
from cognition_engines.search.signals.signal import TextSignal
from cognition_engines.search.signals.table import SIGNALS
from cstp.values.reads import Boosts


def test_each_signal_is_a_boost_of_an_explanation() -> None:
    assert {signal.name for signal in SIGNALS} == set(Boosts.model_fields)
    assert len({signal.name for signal in SIGNALS}) == len(SIGNALS)


def test_each_weight_of_the_relevance_but_the_title_weight_switches_a_signal() -> None:
    weights = {field.name for field in fields(Relevance) if field.name.endswith("_weight")}
    assert {signal.setting for signal in SIGNALS if signal.setting} == weights - {"title_weight"}


def test_a_text_signal_without_a_weight_leaves_scores_as_they_are() -> None:
    for signal in SIGNALS:
        if isinstance(signal, TextSignal) and signal.setting is not None:
            settings = {signal.setting: 0.0}
            off = replace(RELEVANCE, **settings)  # type: ignore[arg-type]
            query = QueryParser(off).parse("how should I bake rye")
            assert signal.weigh(query, off) == 0.0
            assert signal.lift(0.25, 0.0, 1.0) == 0.25


def test_a_query_is_read_once() -> None:
    parser = QueryParser(RELEVANCE)
    query = parser.parse("How should I bake rye with QD-4711?")
    assert parser.parse("How should I bake rye with QD-4711?") is query
    assert query.pairs is query.pairs
    assert (query.asks_for_advice, query.is_about_user, query.is_about_past) == (True, True, False)
    assert query.items == ("QD-4711", "=qd-4711")
