"""An installed program, and the commit of sources that `git archive` has made."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("EMPLACE_PROGRAM", ROOT / "build/release/emplace"))


def commit_of(sources: pathlib.Path) -> str:
    """What the build would take for the commit of these sources."""
    output = sources / "info.cc"
    subprocess.run(["cmake", f"-DSOURCE_DIR={sources}", "-DVERSION=1", f"-DOUTPUT={output}", "-P",
                    sources / "experiments/provenance/build_info.cmake"], check=True, stdout=subprocess.DEVNULL)
    return output.read_text().split('return "')[2].split('"')[0]


@unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "the sources are no git checkout")
class Commit(unittest.TestCase):

    def test_archive_knows_its_commit_wherever_it_is_unpacked(self) -> None:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        files = ["experiments/provenance/build_info.cmake", "experiments/provenance/build_info.cc.in", "experiments/provenance/commit.txt"]
        archive = subprocess.run(["git", "archive", "HEAD", *files], cwd=ROOT, check=True, capture_output=True).stdout
        with tempfile.TemporaryDirectory() as name:
            outer = pathlib.Path(name)
            subprocess.run(["git", "init", "-q", outer], check=True)  # another project's checkout
            sources = outer / "emplace"
            sources.mkdir()
            subprocess.run(["tar", "-x", "-C", sources], input=archive, check=True)
            self.assertEqual(commit_of(sources), head[:12])
            # A copy of the files as they are in the checkout says nothing.
            shutil.copy(ROOT / "experiments/provenance/commit.txt", sources / "experiments/provenance/commit.txt")
            self.assertEqual(commit_of(sources), "unknown")


class Installed(unittest.TestCase):

    def test_program_finds_the_menus_that_were_installed_with_it(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            prefix = pathlib.Path(name)
            subprocess.run(["cmake", "--install", PROGRAM.parent, "--prefix", prefix], check=True,
                           stdout=subprocess.DEVNULL)
            clusters = prefix / "share/emplace/configs/clusters"
            shutil.copy(clusters / "2xk80.yaml", clusters / "only_here.yaml")
            for arguments in (["list", "clusters"], ["--version"]):
                shown = subprocess.run([prefix / "bin/emplace", *arguments], cwd="/", check=True, capture_output=True,
                                       text=True).stdout
                self.assertIn("only_here" if arguments[0] == "list" else "emplace 0.", shown)
            for file in ("README.md", "CHANGELOG.md", "LICENSE", "third_party_notices.md", "licences/d3_licence.txt"):
                self.assertTrue((prefix / "share/doc/emplace" / file).is_file(), file)


if __name__ == "__main__":
    unittest.main()
