"""The script of the release's wheels: its options, the levels that it builds, and the contents of the two wheels."""

from __future__ import annotations

import pathlib
import re
import subprocess
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/wheel"


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)


class Script(unittest.TestCase):

    def test_options(self) -> None:
        options = re.findall(r"^  (--\w[\w-]*)", called("--help").stdout, re.M)
        self.assertEqual(options, ["--no-install", "--no-build", "--no-try", "--jobs", "--help"])
        unknown = called("--fast")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn(f'unknown option "--fast"; choices: {", ".join(options)}', unknown.stderr)
        self.assertIn('--jobs: expected a number above 0, got "none"', called("--jobs", "none").stderr)

    def test_both_scripts_are_good_shell(self) -> None:
        for script in ("wheel", "release", "lib/debian.sh"):
            subprocess.run(["bash", "-n", ROOT / "scripts" / script], check=True)

    def test_levels_are_instruction_sets_that_the_build_knows(self) -> None:
        text = (ROOT / "scripts/emplace/src/emplace/processor.py").read_text(encoding="utf-8")
        levels = set(re.findall(r'"(x86-64[\w-]*)"', text))
        self.assertEqual(levels, set(re.findall(r"x86-64[\w-]*", called("--help").stdout)) | {"x86-64"})
        choices = re.search(r'set\(EMPLACE_ARCH "auto" .*', (ROOT / "scripts/cmake/EmplaceTargets.cmake").read_text(encoding="utf-8"))
        self.assertLessEqual(levels, set(re.findall(r"x86-64[\w-]*", choices.group())))

    def test_every_tier_is_in_one_of_the_wheels(self) -> None:
        recipes = yaml.safe_load((ROOT / "configs/benchmark/instances.yaml").read_text(encoding="utf-8"))["instances"]
        tiers = {recipe["tier"] for recipe in recipes.values()}
        package = (ROOT / "scripts/emplace/bindings/CMakeLists.txt").read_text(encoding="utf-8")
        left_out = set(re.findall(r"benchmark/(\w+) EXCLUDE", package))
        data = set(re.search(r"configs/benchmark/\{(.*)\}", SCRIPT.read_text(encoding="utf-8")).group(1).split(","))
        self.assertEqual(left_out, data | {"table"})
        self.assertLessEqual(tiers - {"small"}, data)
        self.assertNotIn("small", data)


if __name__ == "__main__":
    unittest.main()
