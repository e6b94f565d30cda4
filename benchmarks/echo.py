"""The control of every figure about calls: a bare starlette application that sends a body back.

`python -m benchmarks.echo` serves it on a free port and prints the port.
"""

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def _echo(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")


def main() -> None:
    application = Starlette(routes=[Route("/cstp", _echo, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(listener.getsockname()[1], flush=True)  # noqa: T201
        config = uvicorn.Config(application, access_log=False, log_level="warning", lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
