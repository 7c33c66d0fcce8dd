"""The choice among the copies of the compiled module, by the flags of processors."""

from __future__ import annotations

import os
import pathlib
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  finds the package in the source tree
from emplace.processor import choose_folder

# Of /proc/cpuinfo: a Xeon of 2008 (no AVX), an Intel Core of 2013 (Haswell), a Xeon of 2017 (Skylake-SP).
NEHALEM = "fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt lahf_lm"
HASWELL = NEHALEM + " movbe f16c fma avx abm bmi1 avx2 bmi2"
SKYLAKE = HASWELL + " avx512f avx512dq avx512cd avx512bw avx512vl"


class Choice(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = pathlib.Path(folder.name)
        for level in ("x86-64-v3", "x86-64-v4"):
            (self.package / "levels" / level).mkdir(parents=True)
        patched = mock.patch.dict(os.environ)
        patched.start()
        self.addCleanup(patched.stop)
        os.environ.pop("EMPLACE_LEVEL", None)

    def chosen(self, flags: str, level: str | None = None) -> str:
        cpuinfo = self.package / "cpuinfo"
        cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n\nprocessor\t: 1\nflags\t\t: {flags}\n")
        return choose_folder(self.package, cpuinfo, level).relative_to(self.package).as_posix()

    def test_best_level_of_the_processor(self) -> None:
        self.assertEqual(self.chosen(NEHALEM), ".")
        self.assertEqual(self.chosen(HASWELL), "levels/x86-64-v3")
        self.assertEqual(self.chosen(SKYLAKE), "levels/x86-64-v4")

    def test_a_level_needs_every_feature_of_it_and_of_those_below(self) -> None:
        self.assertEqual(self.chosen(HASWELL.replace(" fma", "")), ".")
        self.assertEqual(self.chosen(SKYLAKE.replace(" avx512cd", "")), "levels/x86-64-v3")
        self.assertEqual(self.chosen(SKYLAKE.replace(" movbe", "")), ".")

    def test_best_level_of_the_package(self) -> None:
        (self.package / "levels/x86-64-v4").rmdir()
        self.assertEqual(self.chosen(SKYLAKE), "levels/x86-64-v3")
        (self.package / "levels/x86-64-v3").rmdir()
        (self.package / "levels").rmdir()
        self.assertEqual(self.chosen(SKYLAKE), ".")

    def test_without_proc_the_copy_for_any_processor(self) -> None:
        self.assertEqual(choose_folder(self.package, self.package / "missing"), self.package)

    def test_a_level_can_be_asked_for(self) -> None:
        self.assertEqual(self.chosen(SKYLAKE, "x86-64"), ".")
        os.environ["EMPLACE_LEVEL"] = "x86-64-v3"
        self.assertEqual(self.chosen(SKYLAKE), "levels/x86-64-v3")

    def test_levels_that_are_not_there_are_refused(self) -> None:
        with self.assertRaisesRegex(ImportError, 'EMPLACE_LEVEL is "x86-64-v4"; choices on this processor: x86-64-v3, x86-64$'):
            self.chosen(HASWELL, "x86-64-v4")
        (self.package / "levels/x86-64-v3").rmdir()
        with self.assertRaisesRegex(ImportError, 'EMPLACE_LEVEL is "v3"; choices on this processor: x86-64-v4, x86-64$'):
            self.chosen(SKYLAKE, "v3")
        with self.assertRaisesRegex(ImportError, 'EMPLACE_LEVEL is "x86-64", but this build of emplace has one level only'):
            choose_folder(self.package / "elsewhere", level="x86-64")


if __name__ == "__main__":
    unittest.main()
