"""Databases of Nsight Systems (`nsys export --type sqlite`) in the form of the profiler's traces.

PyTorch names its operators in NVTX ranges (torch.autograd.profiler.emit_nvtx), "aten::mm, seq = 7, op_id = 12,
sizes = [[4, 6], [6, 3]]"; a kernel belongs to the innermost range around its launch on the same thread. The reader uses
the tables NVTX_EVENTS, StringIds, CUPTI_ACTIVITY_KIND_KERNEL, _RUNTIME, _MEMCPY and _MEMSET, and TARGET_INFO_GPU, and
of each the columns named below. Such a file has no types of tensors. Its times are in nanoseconds.
"""

from __future__ import annotations

import json
import pathlib
import re
import sqlite3
from typing import Any, Iterator, Sequence

from ..importers import ImportFailure
from ..importers.traces import aten

_RECORD = ("record with nsys profile --trace=cuda,nvtx and torch.autograd.profiler.emit_nvtx(record_shapes=True), then "
           "nsys export --type sqlite")
_RANGE = re.compile(r"(.*?)(?:, seq = (\d+))?(?:, op_id = \d+)?(?:, sizes = (\[.*?\]))?(?:, input_op_ids = .*)?",
                    re.DOTALL)
_COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
_MEMORY_KINDS = {1: "Pageable", 2: "Pinned", 3: "Device"}


def is_database(path: str) -> bool:
    """Returns whether the file begins like a SQLite file. Throws ImportFailure if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise ImportFailure(f"{path}: cannot be read: {error.strerror}") from None


def document(path: str) -> dict[str, Any]:
    """Returns the file in the form of torch.profiler. Throws ImportFailure naming the missing part."""
    try:
        database = sqlite3.connect(f"{pathlib.Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            return _Reader(database, path).document()
        finally:
            database.close()
    except sqlite3.DatabaseError as error:
        raise ImportFailure(f"{path}: is a broken database: {error}") from None


class _Reader:
    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self.database, self.path = database, path
        tables = [str(name) for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.columns = {table: [str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')]
                        for table in tables}

    def document(self) -> dict[str, Any]:
        if not {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"} <= set(self.columns):
            missing = sorted({"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"} - set(self.columns))
            raise ImportFailure(f"{self.path}: has no table {missing[0]}; {_RECORD}")
        events = [*self._ranges(), *self._launches(), *self._kernels("KERNEL"), *self._kernels("MEMSET"),
                  *self._copies()]
        gpus = self._rows("TARGET_INFO_GPU", ("name",)) if "TARGET_INFO_GPU" in self.columns else []
        return {"traceEvents": events, "deviceProperties": [{"name": str(name)} for name, in gpus],
                "nsight": "nsys export --type sqlite"}

    def _ranges(self) -> Iterator[dict[str, Any]]:
        texts = dict(self._rows("StringIds", ("id", "value"))) if "StringIds" in self.columns else {}
        rows = self._rows("NVTX_EVENTS", ("start", "end", "globalTid"), ("text", "textId"))
        for start, end, thread, text, number in rows:
            text = texts.get(number) if text is None else text
            if end is None or text is None:  # a mark, or a range that never ended
                continue
            match = _RANGE.fullmatch(str(text))
            assert match is not None  # the pattern matches any text
            name, sequence, sizes = match.groups()
            arguments: dict[str, Any] = {} if sequence is None else {"Sequence number": int(sequence)}
            if sizes is not None:
                shapes = self._shapes(name, sizes)
                arguments |= {"Input Dims": shapes, "Input type": ["unknown"] * len(shapes)}
            operator = aten.is_operator(name) or "Backward" in name
            yield self._event("cpu_op" if operator else "user_annotation", name, start, end, thread, arguments)

    def _shapes(self, name: str, text: str) -> list[Any]:
        try:
            shapes = json.loads(text)
        except json.JSONDecodeError:
            shapes = None
        if not isinstance(shapes, list):
            raise ImportFailure(f"{self.path}: NVTX_EVENTS: {name!r}: sizes are {text!r}, expected a list of shapes")
        return shapes

    def _launches(self) -> Iterator[dict[str, Any]]:
        for start, end, thread, correlation in self._rows("CUPTI_ACTIVITY_KIND_RUNTIME",
                                                          ("start", "end", "globalTid", "correlationId")):
            yield self._event("cuda_runtime", "launch", start, end, thread, {"correlation": correlation})

    def _kernels(self, kind: str) -> Iterator[dict[str, Any]]:
        table = f"CUPTI_ACTIVITY_KIND_{kind}"
        if table not in self.columns:
            return
        for start, end, correlation in self._rows(table, ("start", "end", "correlationId")):
            yield self._event("kernel", kind.lower(), start, end, "gpu", {"correlation": correlation})

    def _copies(self) -> Iterator[dict[str, Any]]:
        table = "CUPTI_ACTIVITY_KIND_MEMCPY"
        if table not in self.columns:
            return
        rows = self._rows(table, ("start", "end", "correlationId", "bytes", "copyKind"),
                          ("deviceId", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"))
        for start, end, correlation, size, kind, device, source, target, source_device, target_device in rows:
            memories = [_MEMORY_KINDS.get(memory, "Unknown") for memory in (source, target)]
            arguments = {"correlation": correlation, "bytes": size, "device": device or 0}
            if kind == 10 and source_device is not None and target_device is not None:
                arguments |= {"fromDevice": source_device, "toDevice": target_device}
            yield self._event("gpu_memcpy", f"Memcpy {_COPY_KINDS.get(kind, 'other')} ({' -> '.join(memories)})", start,
                              end, "gpu", arguments)

    def _rows(self, table: str, needed: Sequence[str], optional: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """Returns the columns of a table; a missing optional column is None."""
        for column in needed:
            if column not in self.columns[table]:
                raise ImportFailure(f"{self.path}: table {table} has no column {column}; it has "
                                    f"{', '.join(self.columns[table])}")
        chosen = [f'"{column}"' if column in self.columns[table] else "NULL" for column in (*needed, *optional)]
        return self.database.execute(f'SELECT {", ".join(chosen)} FROM "{table}"').fetchall()

    @staticmethod
    def _event(category: str, name: str, start: int, end: int, thread: Any,
               arguments: dict[str, Any]) -> dict[str, Any]:
        return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread, "ts": start / 1000,
                "dur": (end - start) / 1000, "args": arguments}
