"""The copies in a trace of PyTorch's profiler (`gpu_memcpy`)."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Mapping

from .trace import spans

_COPY = re.compile(r"Memcpy (\w)to(\w)(?: \((\w+) -> (\w+)\))?")


@dataclasses.dataclass(frozen=True)
class Copy:
    """A copy between memories. source, target: "cpu:0", "gpu:1"; memory: "pinned", "pageable", "peer", "in_situ"."""

    source: str
    target: str
    memory: str
    num_bytes: int   # [B]
    duration: float  # [ns]


def copies(document: Mapping[str, Any], path: str) -> list[Copy]:
    """Returns the copies between host and GPUs, and between GPUs, of all steps. Throws ImportFailure."""
    found = []
    for event in spans(document, path):
        match = _COPY.match(str(event.get("name"))) if event.get("cat") == "gpu_memcpy" else None
        arguments = event.get("args", {})
        size = arguments.get("bytes")
        if match is None or not isinstance(size, int) or size <= 0 or event["dur"] <= 0:
            continue
        own = f"gpu:{arguments.get('device', 0)}"
        source = f"gpu:{arguments['fromDevice']}" if "fromDevice" in arguments else own
        target = f"gpu:{arguments['toDevice']}" if "toDevice" in arguments else own
        source, target = "cpu:0" if match[1] == "H" else source, "cpu:0" if match[2] == "H" else target
        if source == target:
            continue
        memory = next((name.lower() for name in (match[3], match[4]) if name in ("Pinned", "Pageable")),
                      "peer" if match[1] == match[2] else "in_situ")
        found.append(Copy(source, target, memory, size, 1000 * event["dur"]))
    return found
