"""Stamps of sources (scripts/cmake/source_stamp.cmake), by which modules of other sources are refused."""

from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "cmake/source_stamp.cmake"


class SourceStamp(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("one/a.h", "two/deep/b.cc"):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text("int x;\n")

    def stamp(self, folders: str = "one,two") -> str:
        """What the stamp of these folders says before the flags. @throws CalledProcessError"""
        output = self.root / "stamp.cc"
        subprocess.run(["cmake", f"-DSOURCE_DIR={self.root}", f"-DFOLDERS={folders}", "-DNAME=kStamp", "-DHEADER=h.h",
                        f"-DOUTPUT={output}", "-DFLAGS=Release", "-P", SCRIPT],
                       check=True, capture_output=True, text=True)
        return re.search(r'kStamp = "([0-9a-f]{12}), Release"', output.read_text())[1]

    def test_every_source_of_every_folder_counts(self) -> None:
        stamps = [self.stamp()]
        (self.root / "two/deep/b.cc").write_text("int y;\n")
        stamps.append(self.stamp())
        (self.root / "one/c.cu").write_text("")
        stamps.append(self.stamp())
        (self.root / "one/a.h").rename(self.root / "one/d.h")
        stamps += [self.stamp(), self.stamp("one"), self.stamp("two")]
        self.assertEqual(len(set(stamps)), 6, stamps)
        (self.root / "one/notes.md").write_text("no source")
        self.assertEqual(self.stamp(), stamps[3])

    def test_folder_that_is_not_there_is_told(self) -> None:
        with self.assertRaises(subprocess.CalledProcessError) as error:
            self.stamp("one,three")
        self.assertIn("three: no folder of sources", error.exception.stderr)


if __name__ == "__main__":
    unittest.main()
