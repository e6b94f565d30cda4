"""The words of many languages next to the time of day of a message of WhatsApp, after the tables of Unicode's CLDR."""

import re
from enum import Enum
from typing import Final


class Half(Enum):
    """The half of the day that a word means; NOON is of the hours around it."""

    MORNING = "morning"
    NOON = "noon"
    AFTERNOON = "afternoon"


_MORNING: Final = (
    "am a ap d de damanhã manhã dop dopoldne eparadites paradite fm förmiddag pd pg priekšp priekšpusdienā priešpiet"
    " prp rn s sa to v vm öö πμ дп ам претпл пррпл препподне проб үө לפנהצ ص صباحا ق قظ قبلازظهر परवहन सकळ मप"
    " மறபகல ಪರವಹನ ਪਦ ఉ पूरव กอนเทยง ກອນທຽງ နနက ጥዋት 上午 午前 早上 清晨 凌晨 早晨 오전 새벽 아침"
)
_AFTERNOON: Final = (
    "pm p c ch tarde datarde du eftermiddag em epasdites pasdite in ip md n nm odp pop popiet popoldne ptg pēcp pēcpusd"
    " pēcpusdienā tk ös μμ попл поподне пп пм слоб үх אחהצ ب بظ بعدازظهر م مساء अपरहन अपरहण मउ பறபகல ಅಪರಹನ ਬਦ"
    " หลงเทยง ຫງທຽງ ညန ከሰዓት 下午 午後 傍晚 晚上 夜晚 오후 저녁 밤"
)
_HALVES: Final = {
    **dict.fromkeys(_MORNING.split(), Half.MORNING),
    **dict.fromkeys(_AFTERNOON.split(), Half.AFTERNOON),
    "中午": Half.NOON,
}
# Words between a day and a time, and after a time, that say nothing.
_IDLE: Final = "klo um at à às ás kl klockan klukkan kello alle ore om la a alas o ogodz kell lúc в у u ve saat"
_BEFORE: Final = frozenset(_IDLE.split())
_AFTER: Final = frozenset(("h", "uhr", "น", "ч", "hrs", "óra", "ora", "г"))
_NO_LETTER: Final = re.compile(r"[\W_]+")


def half_of(before: str | None, after: str | None) -> tuple[bool, Half | None]:
    """Return whether the words around a time are known, and the half of the day that they mean."""
    first, last = (_NO_LETTER.sub("", word.casefold()) for word in (before or "", after or ""))
    halves = [
        _HALVES[word] for word, idle in ((first, _BEFORE), (last, _AFTER)) if word in _HALVES and word not in idle
    ]
    known = all(not word or word in idle or word in _HALVES for word, idle in ((first, _BEFORE), (last, _AFTER)))
    return known and len(halves) <= 1, halves[0] if halves else None
