"""Where a client's token comes from, and how it is kept out of sight."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Final

import httpx
from pydantic import SecretStr

VARIABLE: Final = "CSTP_TOKEN"


def read_token(token: SecretStr | None, token_file: str | Path | None, environment: Mapping[str, str]) -> SecretStr:
    """Return the token given, else the one in the file, else that of `CSTP_TOKEN`.

    Raises ValueError where there is none, where both are given, or where it is no token; OSError for the file.
    """
    around = SecretStr(environment.get(VARIABLE, ""))
    del environment  # a traceback of what is raised here may show this frame's variables
    if token is not None and token_file is not None:
        raise ValueError("give token or token_file, not both")
    if token is not None:
        return _checked(token, "token")
    if token_file is not None:
        return _checked(_content(Path(token_file)), str(token_file))
    if around:
        return _checked(around, VARIABLE)
    raise ValueError(f"no token: give token or token_file, or set {VARIABLE}")


def _content(file: Path) -> SecretStr:
    # an error of decoding would hold the bytes; what stands for them is no part of a token
    return SecretStr(file.read_bytes().decode("ascii", errors="replace").strip())


def _checked(secret: SecretStr, source: str) -> SecretStr:
    if not _is_token(secret):
        raise ValueError(f"{source}: a token is printable ASCII without spaces")
    return secret


def _is_token(secret: SecretStr) -> bool:
    text = secret.get_secret_value()
    return isinstance(text, str) and text != "" and all("!" <= character <= "~" for character in text)


class BearerAuth(httpx.Auth):
    """Puts the token into each request when it is sent, so that no client holds it in its headers."""

    def __init__(self, secret: SecretStr) -> None:
        self._secret = secret

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._secret.get_secret_value()}"
        yield request
