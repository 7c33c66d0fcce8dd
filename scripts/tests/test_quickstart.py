"""scripts/quickstart: what it refuses, and the commands that it prints at the end."""

from __future__ import annotations

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/quickstart"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], check=False, capture_output=True, text=True)


class Quickstart(unittest.TestCase):

    def test_help(self) -> None:
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("scripts/quickstart [--no-install] [--jobs N]"))

    def test_jobs_are_a_number(self) -> None:
        for wrong in ("0", "two", ""):
            with self.subTest(jobs=wrong):
                done = run("--no-install", "--jobs", wrong)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr,
                                 f'emplace set-up: --jobs: expected a number above 0, got "{wrong}"\n')

    def test_next_commands_are_on_the_pages(self) -> None:
        """test_readme.py runs the blocks of README.md, and the page of the commands names the report."""
        text = SCRIPT.read_text(encoding="utf-8")
        report, verify, own = re.findall(r"^  [a-z ]+: +(emplace .*)$", text[text.index("Try next"):], re.M)
        self.assertEqual(report, "emplace report $results")
        self.assertIn("results=results/quickstart.h5\n", text)
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertIn(f"\n{verify}\n", readme)
        self.assertIn(f"\n{own}\n", readme)
        self.assertIn('"Your model, machine and agent"', text)
        self.assertIn("\n## Your model, machine and agent\n", readme)


if __name__ == "__main__":
    unittest.main()
