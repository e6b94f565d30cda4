"""Secrets made of words: a wallet's recovery phrase, and a passphrase without a digit.

Prose after the same names stays unchanged: no word list for phrases contains "the" or "must".
"""

import re
from collections.abc import Iterator
from typing import Final

from cognition_engines.masking.policy import TextSecret
from cognition_engines.masking.value_shapes import WORDS

_NAME: Final = re.compile(
    r"(?P<seed>(?:seed|recovery|backup|wallet|mnemonic)[ _-]?phrase|seed[ _-]?words?|mnemonic)|pass[ _-]?phrase",
    re.IGNORECASE,
)
_HINTS: Final = ("phrase", "mnemonic", "seed")
_LINK: Final = re.compile(
    r"""
    \\?['"`*_\])]{0,4} (?: [ \t](?:for|of|für|zu[mr]?)[ \t] [^\n:='"|]{1,32}? )? [ \t]{0,4}
    (?: (?: :=|=>|->|==?|[:：→] ) [*_]{0,2} | (?P<said> [ \t](?:is|was|ist|war|lautet) ):? )
    \s{0,4} \[? \s{0,4} (?P<quote> \\?['"`] )? (?: [0-9]{1,2}[.)][ \t] )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BETWEEN_SEEDS: Final = r"[\s,;\"'`]{1,6}(?:[0-9]{1,2}[.):]?\s{1,2})?"
_SEEDS: Final = re.compile(rf"[A-Za-z]{{3,8}}(?:{_BETWEEN_SEEDS}[A-Za-z]{{3,8}}(?![\w-])){{11,23}}")
_SEED: Final = re.compile(r"[A-Za-z]{3,8}")
_LENGTHS: Final = (24, 21, 18, 15, 12)  # of recovery phrases, in words
_PASSPHRASE: Final = re.compile(
    r"[A-Za-z]{2,12}(?:[ _.-][A-Za-z]{2,12}){3,9}(?=[\\]?['\"`]|[.,;]?[ \t]*(?:\r?\n|\Z)|\x01)"
)
_PARTS: Final = re.compile(r"[ _.-]")
_PROSE: Final = frozenset(
    re.findall(
        r"\S+",
        """
    the and for are not was but has had have its our his her they them their from your yours were been being does did
    should would could shall might may which whose who whom than then these those here there where because
    is it in of on to at as by be or if an we he me my no so us do a i
    phrase phrases word words wallet seed mnemonic sentence several random long short strong choose chosen use used
    enter type please new old four five six seven eight twelve different common easy hard remember write written keep
    kept safe protects unlock unlocks
    der die das und oder ist sind ein eine mit von für auf dem den zu im am aus bei nach wird werden kann muss
        """,
    )
)
SEED_PHRASE: Final = "wallet-seed"  # no name of such a phrase
PASSPHRASE: Final = "password"


def find_word_phrases(text: str) -> Iterator[TextSecret]:
    """Yield recovery phrases and passphrases that follow a name."""
    low = text.lower()
    if not any(hint in low for hint in _HINTS):
        return
    done = 0
    for name in _NAME.finditer(text):
        if name.start() < done or (link := _LINK.match(text, name.end())) is None:
            continue
        if name["seed"]:
            end, kind = _end_of_seeds(text, link.end()), SEED_PHRASE
        else:
            end, kind = None if link["said"] and not link["quote"] else _end_of_passphrase(text, link.end()), PASSPHRASE
        if end is not None:
            done = end
            yield TextSecret(link.end(), end, kind)


def _end_of_seeds(text: str, start: int) -> int | None:
    """Return the end of the longest recovery phrase at a position."""
    run = _SEEDS.match(text, start)
    if run is None:
        return None
    ends: list[int] = []
    for word in _SEED.finditer(text, start, run.end()):
        if word[0].lower() in _PROSE:
            break
        ends.append(word.end())
    length = next((one for one in _LENGTHS if one <= len(ends)), None)
    return None if length is None else ends[length - 1]


def _end_of_passphrase(text: str, start: int) -> int | None:
    """Return the end of a passphrase made of words that fills a line or a quotation."""
    run = _PASSPHRASE.match(text, start)
    if run is None or any(part in _PROSE or part in WORDS for part in _PARTS.split(run[0].lower())):
        return None
    return run.end()
