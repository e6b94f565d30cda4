"""Invented secrets, assembled at run time, so that repository scanners find none in this folder."""

from hashlib import sha512
from typing import Final

UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER: Final = UPPER.lower()
DIGITS: Final = "0123456789"
HEX: Final = "0123456789abcdef"
LETTERS: Final = UPPER + LOWER + DIGITS
BASE32: Final = UPPER + "234567"
BASE64: Final = LETTERS + "+/"
URL_SAFE: Final = LETTERS + "-_"
DASH: Final = "-" * 5


def fake(length: int, alphabet: str = LETTERS, seed: str = "") -> str:
    """Return invented characters, equal in each run; another `seed` gives others."""
    found = ""
    while len(found) < length:
        numbers = sha512(f"{alphabet} {length} {seed} {len(found)}".encode()).digest()
        found += "".join(alphabet[one % len(alphabet)] for one in numbers)
    return found[:length]


def hidden(text: str, secret: str) -> tuple[str, str]:
    """Return a text with the secret in place of `@@`, and the secret."""
    assert "@@" in text
    return text.replace("@@", secret), secret


def key_block(label: str, lines: int = 6, newline: str = "\n") -> str:
    """Return an invented private key in PEM form."""
    body = newline.join(fake(64, BASE64, f"{label} {number}") for number in range(lines))
    return f"{DASH}BEGIN {label}{DASH}{newline}{body}{newline}{DASH}END {label}{DASH}"


def web_token(seed: str = "") -> str:
    """Return an invented JSON Web Token."""
    return f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{fake(60, LETTERS, seed)}.{fake(43, URL_SAFE, seed)}"
