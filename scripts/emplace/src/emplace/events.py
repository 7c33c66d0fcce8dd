"""Event files for TensorBoard, written while searches run: emplace.run(..., tensorboard=DIR)."""

from __future__ import annotations

import importlib
import math
import os
import threading
import time
from typing import Any

from .searches import Progress


class Events:
    """Writes the Progress of searches; each search has its own folder, named by its label.

    step_time_ms   best so far, over evaluations: when it improves, and at the end
    bound_ms       the bound that the agent proves, over evaluations
    update/NAME    a learner's numbers, over its updates; skips undefined ones (NaN)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Opens the folder. @throws ImportError without the package tensorboard"""
        try:
            events = importlib.import_module("tensorboard.compat.proto.event_pb2")
            summaries = importlib.import_module("tensorboard.compat.proto.summary_pb2")
            writers = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        except ImportError as error:
            raise ImportError(f"event files need the package tensorboard ({error}): pip install tensorboard") from error
        self._event, self._summary, self._writer = events.Event, summaries.Summary, writers.EventFileWriter
        self._folder = os.fspath(folder)
        self._lock = threading.Lock()
        self._writers: dict[str, Any] = {}
        self._written: dict[tuple[str, str], float] = {}  # (label, name) -> last value

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            if progress.label not in self._writers:
                self._writers[progress.label] = self._writer(os.path.join(self._folder, progress.label))
            for name, nanoseconds in (("step_time_ms", progress.step_time), ("bound_ms", progress.bound or None)):
                if nanoseconds is not None and (progress.status or self._is_new(progress.label, name, nanoseconds)):
                    self._add(progress, {name: nanoseconds / 1e6}, progress.evaluations)
            if progress.update and self._is_new(progress.label, "update", progress.num_updates):
                self._add(progress, {f"update/{name}": value for name, value in progress.update.items()
                                     if not math.isnan(value)}, progress.num_updates)
            if progress.status:
                self._writers[progress.label].flush()

    def close(self) -> None:
        """Closes all files."""
        for writer in self._writers.values():
            writer.close()

    def _is_new(self, label: str, name: str, value: float) -> bool:
        is_new = self._written.get((label, name)) != value
        self._written[label, name] = value
        return is_new

    def _add(self, progress: Progress, values: dict[str, float], step: int) -> None:
        summary = self._summary(value=[self._summary.Value(tag=name, simple_value=value)
                                       for name, value in values.items()])
        self._writers[progress.label].add_event(self._event(wall_time=time.time(), step=step, summary=summary))
