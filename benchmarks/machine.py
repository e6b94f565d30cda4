"""What the figures were measured on."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Final

_PACKAGES: Final = (
    "cognition-cstp",
    "chromadb",
    "tantivy",
    "numpy",
    "onnxruntime",
    "sqlalchemy",
    "starlette",
    "uvicorn",
)


def describe_machine() -> str:
    """Processor, cores, memory, operating system."""
    return f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()} GB, {platform.system()} {platform.release()}"


def describe_versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in _PACKAGES}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _gigabytes() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
