"""What the tests share: the package's sources, its commands in this process, and a folder of their own.

Import it before the package: it puts the sources on Python's path.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
from typing import Any, Callable, Iterable

SOURCE = str(pathlib.Path(__file__).resolve().parents[1] / "src")
sys.path.insert(0, SOURCE)

from emplace.importers import command, graph_file  # noqa: E402


def needs(*packages: str) -> Callable:
    """Skips a test loudly where one of the packages is missing."""
    missing = [package for package in packages if not importlib.util.find_spec(package)]
    return unittest.skipIf(missing, f"SKIPPED, NOT TESTED: no {', '.join(missing)} (scripts/test --importers)")


def called(main: Callable[[list[str]], int], *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command's function."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([*arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


def run(*arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `emplace import`."""
    return called(command.main, *arguments)


def without_packages(*arguments: str) -> str:
    """Returns the one sentence with which `emplace import` refuses where no package is installed (-S)."""
    done = subprocess.run([sys.executable, "-S", "-m", "emplace", "import", *arguments], capture_output=True, text=True,
                          check=False, env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE})
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done
    return done.stderr


def kinds_without_class(table: str, kinds: Iterable[str]) -> set[str]:
    """Those of the kinds that a table of framework/cost/op_classes gives no class."""
    import yaml

    text = (pathlib.Path(SOURCE).parents[2] / "framework/cost/op_classes" / table).read_text(encoding="utf-8")
    rules = [rule for names in yaml.safe_load(text).values() for rule in names]
    assert len(rules) > 100
    return {kind for kind in kinds if not any(kind == rule or rule.endswith("*") and kind.startswith(rule[:-1])
                                              for rule in rules)}


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {op["name"]: op for op in document["ops"]}


def matrix_work(document: dict[str, Any], phase: str = "forward") -> float:
    """FLOP of TensorFlow's convolutions and matrix products in a phase."""
    return sum(op.get("flops", 0) for op in document["ops"] if op.get("phase", "forward") == phase
               and ("Conv" in op["kind"] or "MatMul" in op["kind"] or op["kind"] == "Einsum"))


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    options: tuple[str, ...] = ()  # of every call of `emplace import`

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str | bytes) -> str:
        data = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
        pathlib.Path(self.path(name)).write_bytes(data)
        return self.path(name)

    def imported(self, *arguments: str, output: str = "g.json.gz") -> dict[str, Any]:
        """The checked graph file that `emplace import` writes."""
        code, _, err = run(*self.options, *arguments, "-o", self.path(output))
        self.assertEqual(code, 0, err)
        document = graph_file.read(self.path(output))
        self.assertEqual(graph_file.check(document), [])
        return document

    def refused(self, expected: str, *arguments: str) -> None:
        """One sentence that matches, exit code 2, nothing written."""
        code, out, err = run(*self.options, *arguments, "-o", self.path("refused.json"))
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn(expected, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertFalse(os.path.exists(self.path("refused.json")))

    def same_bytes_for_every_hash_seed(self, *arguments: str) -> None:
        """Two processes that order sets differently write the same file."""
        contents = set()
        for seed in ("1", "2"):
            path = self.path(f"{seed}/g.json.gz")  # a graph is named after its file
            os.mkdir(os.path.dirname(path))
            subprocess.run([sys.executable, "-m", "emplace", "import", *self.options, *arguments, "-o", path],
                           check=True, capture_output=True,
                           env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": SOURCE})
            contents.add(pathlib.Path(path).read_bytes())
        self.assertEqual(len(contents), 1)
