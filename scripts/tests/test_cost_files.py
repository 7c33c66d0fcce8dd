"""The cost files of configs/costs: each has its origin, as the README there demands, and the program reads it."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
COSTS = ROOT / "configs" / "costs"


def missing(document: dict[str, Any]) -> list[str]:
    """Returns the keys of the origin that a cost file lacks."""
    properties = document.get("properties", {})
    system = "driver" if any(kind.get("class") == "gpu" for kind in document.get("device_kinds", ())) else "kernel"
    found = {"machine": document.get("machine"), **{f"properties.{key}": properties.get(key)
                                                    for key in (system, "date", "command")}}
    form = {"properties.date": r"\d{4}-\d\d-\d\d\b.*"}
    return [key for key, value in found.items()
            if not isinstance(value, str) or not re.fullmatch(form.get(key, r".*\S.*"), value, re.DOTALL)]


def without_origin(folder: pathlib.Path) -> list[str]:
    """Returns the name of each incomplete file and its missing keys."""
    found = []
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.json.gz"))):
        data = path.read_bytes()
        keys = missing(json.loads(gzip.decompress(data) if path.suffix == ".gz" else data))
        found += [f"{path.name}: lacks {', '.join(keys)}"] if keys else []
    return found


class CostFiles(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.costs = pathlib.Path(folder.name, "costs")
        self.costs.mkdir()
        page = (COSTS / "README.md").read_text(encoding="utf-8")
        self.example: dict[str, Any] = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])

    def write(self, name: str, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        (self.costs / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    def test_every_file_has_its_origin(self) -> None:
        self.assertEqual(without_origin(COSTS), [])

    def test_a_file_without_origin_is_found(self) -> None:
        self.write("good.json", self.example)
        self.assertEqual(without_origin(self.costs), [])
        properties = self.example["properties"]
        self.write("cpu.json.gz", {**self.example, "device_kinds": [{"name": "c", "class": "cpu"}]})
        self.write("no_machine.json", {**self.example, "machine": " "})
        for key in properties:
            self.write(f"no_{key}.json.gz", {**self.example, "properties": {
                name: text for name, text in properties.items() if name != key}})
        self.write("today.json", {**self.example, "properties": {**properties, "date": "today"}})
        self.assertEqual(without_origin(self.costs), [
            "cpu.json.gz: lacks properties.kernel", "no_command.json.gz: lacks properties.command",
            "no_date.json.gz: lacks properties.date", "no_driver.json.gz: lacks properties.driver",
            "no_machine.json: lacks machine", "today.json: lacks properties.date"])

    @unittest.skipUnless("EMPLACE_PROGRAM" in os.environ, "SKIPPED, NOT TESTED: $EMPLACE_PROGRAM is not set")
    def test_the_program_reads_every_file(self) -> None:
        self.write("example.json", self.example)
        for configs in (COSTS.parent, self.costs.parent):
            done = subprocess.run([os.environ["EMPLACE_PROGRAM"], "list", "costs"], capture_output=True, text=True,
                                  check=False, env={**os.environ, "EMPLACE_CONFIGS": str(configs)})
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in (configs / "costs").glob("*.json*"):
                self.assertIn(path.name.partition(".")[0], done.stdout, done.stderr)
        self.assertRegex(done.stdout, r"example +lab7: gpu:0 \(NVIDIA L4\)")


if __name__ == "__main__":
    unittest.main()
