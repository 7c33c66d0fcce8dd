"""The processes of this machine, as /proc tells them. One that ends meanwhile has no children, arguments or rank."""

from __future__ import annotations

import contextlib
from pathlib import Path


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def environment(pid: int) -> list[str]:
    """NAME=VALUE."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return []


def arguments(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


def all_processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def with_arguments(*words: str) -> list[int]:
    """Processes that have all these arguments."""
    return [pid for pid in all_processes() if set(words) <= set(arguments(pid))]


def mpi_rank(pid: int) -> int:
    """That Open MPI has given; -1 without."""
    for entry in environment(pid):
        if entry.startswith("OMPI_COMM_WORLD_RANK="):
            return int(entry.partition("=")[2])
    return -1
