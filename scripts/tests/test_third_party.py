"""The page of third-party licences against what the build looks for and installs."""

from __future__ import annotations

import glob
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "scripts/lib/third_party_notices.md"
# What Apache-2.0 programs may be linked with; the GPL only with an exception that says so.
LICENCES = {"Apache-2.0", "BSD-3-Clause", "BSL-1.0", "CeCILL-C", "EPL-1.0", "EPL-2.0", "LGPL-2.1", "MIT", "MPL-2.0",
            "PSF-2.0", "Zlib", "GPL-3.0 with GCC runtime library exception", "NVIDIA CUDA Toolkit EULA",
            "NVIDIA cuDNN licence"}
# Packages that make the program and leave nothing of theirs in it, but for g++.
TOOLS = {"ccache", "cmake", "ninja-build"}
DOCUMENTS = "/usr/share/doc/"


def rows_of(page: str) -> list[dict[str, str]]:
    """Rows of all tables, by the names of their columns."""
    rows: list[dict[str, str]] = []
    head: list[str] = []
    for line in page.splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not head:
            head = cells
        elif not set(line) <= set("|-"):
            rows.append(dict(zip(head, cells, strict=True)))
    return rows


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def found_by_cmake() -> set[str]:
    """What any CMakeLists.txt, or a file that it includes, asks find_package() for."""
    files = [ROOT / "CMakeLists.txt", *(ROOT / "scripts/cmake").glob("*.cmake")]
    for folder in ("framework", "simulator", "agents", "profilers", "experiments", "tests"):
        files += (ROOT / folder).rglob("CMakeLists.txt")
    texts = [path.read_text(encoding="utf-8") for path in files]
    return {name for text in texts for name in re.findall(r"find_package\((\S+)", text)}


def installed_packages() -> set[str]:
    lines = (ROOT / "scripts/lib/packages.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0].lstrip("?") for line in lines if line and not line.startswith("#")}


class ThirdPartyPage(unittest.TestCase):

    def setUp(self) -> None:
        self.rows = rows_of(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(self.rows), 20)

    def named(self, column: str) -> set[str]:
        return {name for row in self.rows for name in names_in(row.get(column, ""))}

    def test_every_library_that_cmake_looks_for_is_named(self) -> None:
        self.assertIn("CLP", found_by_cmake())
        self.assertEqual(self.named("CMake"), found_by_cmake())

    def test_every_package_is_named(self) -> None:
        self.assertEqual(self.named("package"), installed_packages() - TOOLS)

    def test_licences_go_together_with_ours(self) -> None:
        for row in self.rows:
            self.assertIn(row["licence"], LICENCES, row)

    def test_every_row_says_where_its_text_lies(self) -> None:
        for row in self.rows:
            text = row["text of the licence"]
            if text.startswith("<https://"):
                continue
            place = names_in(text)[0]
            if not place.startswith(DOCUMENTS):
                self.assertTrue((ROOT / place).is_file(), place)
            elif any(glob.glob(f"{DOCUMENTS}{package}") for package in names_in(row["package"])):
                self.assertTrue(glob.glob(place), place)  # the package is on this machine

    def test_d3_has_its_licence_in_every_report(self) -> None:
        licence = (ROOT / "experiments/report/page/d3_licence.txt").read_text(encoding="utf-8")
        self.assertIn("BSD-3-Clause", licence)
        page = (ROOT / "experiments/report/page/report.html").read_text(encoding="utf-8")
        self.assertIn("{{d3_licence.txt}}", page)

    def test_bundles_carry_the_licences(self) -> None:
        rules = (ROOT / "scripts/cmake/Portable.cmake").read_text(encoding="utf-8")
        for part in ("/LICENSE", "third_party_notices.md", "d3_licence.txt", "Licences.cmake"):
            self.assertIn(part, rules)


if __name__ == "__main__":
    unittest.main()
