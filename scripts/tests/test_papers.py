"""The papers of a public project: one version everywhere, hooks whose commands exist, settings of tools that can be read."""

from __future__ import annotations

import configparser
import os
import pathlib
import re
import shlex
import subprocess
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def found(pattern: str, path: str) -> str:
    match = re.search(pattern, text(path), re.M)
    assert match, f"{path}: nothing like {pattern}"
    return match.group(1)


class Version(unittest.TestCase):

    def setUp(self) -> None:
        self.version = found(r"^project\(emplace VERSION ([0-9.]+)", "CMakeLists.txt")

    def test_files_have_the_version_of_the_build(self) -> None:
        citation = yaml.safe_load(text("CITATION.cff"))
        self.assertEqual(citation["version"], self.version)
        self.assertEqual(citation["license"], found(r'^license = "(.*)"', "scripts/emplace/pyproject.toml"))
        self.assertEqual(found(r'^version = "(.*)"', "scripts/emplace/pyproject.toml"), self.version)
        self.assertEqual(found(r'^__version__ = "(.*)"', "scripts/emplace/src/emplace/__init__.py"), self.version)
        self.assertEqual(found(r"^## (\S+)", "CHANGELOG.md"), self.version, "the first heading is the version")

    def test_program_has_the_version_of_the_build(self) -> None:
        printed = subprocess.run([os.environ["EMPLACE_PROGRAM"], "--version"], check=True, capture_output=True, text=True).stdout
        self.assertTrue(printed.startswith(f"emplace {self.version} (commit "), printed)


class Hooks(unittest.TestCase):

    def test_commands_are_programs_of_this_tree_or_the_distribution(self) -> None:
        hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"][0]["hooks"]
        self.assertGreater(len(hooks), 4)
        for hook in hooks:
            program, *arguments = shlex.split(hook["entry"])
            self.assertIn(program, ("clang-format", "ctest", "python3"), hook["id"])
            if program == "python3":
                self.assertTrue((ROOT / arguments[0]).is_file(), hook["entry"])
            if "files" in hook:
                re.compile(hook["files"])

    def test_types_are_a_test(self) -> None:
        self.assertIn("NAME wheel/types", text("tests/CMakeLists.txt"))


class Settings(unittest.TestCase):

    def test_editors_break_lines_where_clang_format_does(self) -> None:
        editors = configparser.ConfigParser()
        editors.read_string(text(".editorconfig").replace("root = true\n", ""))
        self.assertEqual(editors["*.{cc,h,cu,cuh}"]["max_line_length"], str(yaml.safe_load(text(".clang-format"))["ColumnLimit"]))

    def test_folders_of_clang_tidy_are_those_of_the_tree(self) -> None:
        tidy = yaml.safe_load(text(".clang-tidy"))
        for folder in re.findall(r"\w+", tidy["HeaderFilterRegex"]):
            self.assertTrue((ROOT / folder / "CMakeLists.txt").is_file(), folder)


if __name__ == "__main__":
    unittest.main()
