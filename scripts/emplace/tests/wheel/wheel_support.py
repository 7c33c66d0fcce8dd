"""Small problems for the tests of the installed package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any

import emplace
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = [sys.executable, "-m", "emplace"]


def command(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `emplace` where my_agents is, to end with that exit code."""
    done = subprocess.run([*COMMAND, *arguments], check=False, capture_output=True, text=True, cwd=HERE)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


class TestCase(unittest.TestCase):
    """With a folder that vanishes."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def started(self, arguments: list[str], **options: Any) -> subprocess.Popen[str]:
        """Starts a process that ctrl-C ends, as at a terminal. It does not outlive the test.

        Programs in the background ignore the signal, and their children inherit that.
        """
        process = subprocess.Popen(arguments, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                                   **options)
        self.enterContext(process)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, path: str, seconds: float = 60) -> None:
        """Waits until a file exists."""
        deadline = time.monotonic() + seconds
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), deadline, path)
            time.sleep(0.05)


def chain(costs: list[list[int]], output_bytes: int = 1000, bandwidth: float = 1e9, latency_ns: int = 100,
          memory: Any = None, **options: Any) -> emplace.Problem:
    """A chain of ops with costs [num_ops, num_devices] [ns] on devices that are all connected."""
    count, devices = np.shape(costs)
    graph = emplace.graph_from_arrays([f"op{i}" for i in range(count)], [[i, i + 1] for i in range(count - 1)],
                                      [output_bytes] * count, name="chain")
    cluster = emplace.cluster_from_arrays([f"d{i}" for i in range(devices)], bandwidth, latency_ns,
                                          kinds=[f"kind{i}" for i in range(devices)], memory=memory)
    return emplace.Problem(graph, cluster, costs=np.array(costs, dtype=np.int64), **options)


def random_placements(problem: emplace.ProblemView, count: int, seed: int = 0) -> Any:
    scores = np.random.default_rng(seed).random((count, *problem.allowed.shape))
    return np.where(problem.allowed, scores, -1).argmax(axis=2).astype(np.uint8)
