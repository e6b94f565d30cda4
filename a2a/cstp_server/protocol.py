"""uvicorn's HTTP protocol with a cap on request headers; without one it takes any amount."""


from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def capped_protocol(max_bytes: int, max_headers: int) -> type[HttpToolsProtocol]:
    """A protocol class that answers 400 to a request whose line and headers are larger than allowed."""

    class CappedProtocol(HttpToolsProtocol):
        _seen = 0

        def on_message_begin(self) -> None:
            self._seen = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(len(name) + len(value) + 4)
            super().on_header(name, value)
            if len(self.headers) > max_headers:
                raise ValueError("too many headers")

        def _count(self, size: int) -> None:
            self._seen += size
            if self._seen > max_bytes:
                raise ValueError("headers too large")

    return CappedProtocol


