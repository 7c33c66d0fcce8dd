"""Tests of generate_clusters.py: what is drawn, what is committed, the words of refusals."""

from __future__ import annotations

import tempfile
import unittest

import script  # noqa: F401
import yaml
from support import called

import generate_clusters


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and standard error of the program, run in this process."""
    code, _, error = called(generate_clusters.main, *arguments)
    return code, error


class Draw(unittest.TestCase):
    """The YAML of one cluster."""

    def test_depends_on_seed_and_number_alone(self) -> None:
        self.assertEqual(generate_clusters.draw("a", 3, 7), generate_clusters.draw("a", 3, 7))
        self.assertNotEqual(generate_clusters.draw("a", 3, 7), generate_clusters.draw("a", 3, 8))
        self.assertNotEqual(generate_clusters.draw("a", 3, 7), generate_clusters.draw("a", 4, 7))

    def test_what_is_drawn(self) -> None:
        sizes, kinds, mixed, binding, wirings = set(), set(), 0, 0, set()
        for number in range(200):
            cluster = yaml.safe_load(generate_clusters.draw("a", 1, number))
            gpus = [device for device in cluster["devices"] if device["name"] != "cpu:0"]
            sizes.add(len(gpus))
            of = {gpu["kind"] for gpu in gpus}
            kinds |= of
            mixed += len(of) == 2
            binding += gpus[0]["memory"] != f"{generate_clusters.MEMORY_GIB[gpus[0]['kind']]}GiB"
            names = {channel["name"] for channel in cluster["channels"]}
            wirings.add(("root" in names, "pair0" in names))
            for route in cluster["routes"]:
                self.assertLessEqual(set(route["via"]), names)
        self.assertEqual(sizes, set(range(2, 9)))
        self.assertEqual(kinds, set(generate_clusters.MEMORY_GIB))
        self.assertEqual(wirings, {(True, False), (True, True), (False, False)})
        self.assertTrue(30 < mixed < 100, mixed)
        self.assertTrue(40 < binding < 120, binding)


class Program(unittest.TestCase):
    """The command line."""

    def test_committed_files_are_those_that_are_drawn(self) -> None:
        self.assertEqual(run("--check"), (0, ""))
        unseen = str(generate_clusters.FOLDER.parent / "unseen")
        self.assertEqual(run("--check", "--seed", "1", "--count", "48", "--output", unseen), (0, ""))

    def test_a_changed_or_missing_file_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as parent:
            folder = parent + "/drawn"
            self.assertEqual(run("--output", folder, "--count", "2"), (0, ""))
            self.assertEqual(run("--output", folder, "--count", "2", "--check")[0], 0)
            code, error = run("--output", folder, "--count", "3", "--check")
            self.assertEqual(code, 1)
            self.assertIn("drawn02.yaml: differs from the cluster that --seed 0 draws", error)
            code, error = run("--output", folder, "--count", "2", "--check", "--seed", "1")
            self.assertEqual(code, 1)
            self.assertIn("drawn00.yaml", error)

    def test_a_wrong_request(self) -> None:
        code, error = run("--count", "0")
        self.assertEqual(code, 2)
        self.assertIn("--count is 0, expected at least 1", error)

    def test_a_folder_that_cannot_be_made(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            code, error = run("--output", file.name + "/below")
            self.assertEqual(code, 1)
            self.assertIn("Not a directory", error)


if __name__ == "__main__":
    unittest.main()
