"""The control of every figure about calls: a bare starlette application that sends a body back.

`python -m benchmarks.echo PORT` serves it.
"""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def _echo(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")


if __name__ == "__main__":
    application = Starlette(routes=[Route("/cstp", _echo, methods=["POST"])])
    uvicorn.run(application, port=int(sys.argv[1]), access_log=False, log_level="warning", lifespan="off")
