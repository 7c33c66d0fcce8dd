"""The code blocks of README.md run as they stand, in an empty folder.

A block without a language is output. Left out are the two set-up commands, and lines that install packages:
scripts/test itself installs the wheel. `run`, `profile` and `verify` get options that make them short, and `profile` may
keep times that drift. `emplace import` and the Python block need build/python, which scripts/test makes; where it is
missing, or has no PyTorch, their tests are skipped.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
INTERPRETER = ROOT / "build/python/bin/python"
INSTALLS = re.compile(r"^(\./scripts/(quickstart|test)|pip install|python3 -m venv)\b.*\n", re.M)
EMPLACE = """
emplace() {
  case "$1" in
    import) "$INTERPRETER" -m emplace "$@" ;;
    run) "$EMPLACE_PROGRAM" "$@" --set budget.evaluations=100 ;;
    profile) "$EMPLACE_PROGRAM" "$@" --seconds 0.01 --in-situ 0 --no-links --no-interference --allow-drift ;;
    verify) "$EMPLACE_PROGRAM" "$@" --top 1 --rounds 1 ;;
    *) "$EMPLACE_PROGRAM" "$@" ;;
  esac
}
"""
MODEL = """
import torch

def build(batch=64):
    module = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    images, labels = torch.empty(batch, 784), torch.empty(batch, dtype=torch.int64)
    return module, (images,), (labels,), torch.nn.functional.cross_entropy
"""


def has(module: str) -> bool:
    return INTERPRETER.exists() and subprocess.run([INTERPRETER, "-c", f"import {module}"], check=False,
                                                   capture_output=True).returncode == 0


class Blocks(unittest.TestCase):

    def run_block(self, language: str, word: str, files: dict[str, str]) -> None:
        """Runs the one block of a language that holds a word beside files; each result that it names with -o exists."""
        [block] = [INSTALLS.sub("", text) for found, text in BLOCKS if found == language and word in text]
        command = [INTERPRETER, "-c", block] if language == "python" else ["bash", "-ec", EMPLACE + block]
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            done = subprocess.run(command, cwd=folder, env=dict(os.environ, INTERPRETER=str(INTERPRETER)), check=False,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for output in re.findall(r'(?:-o |output=")([\w.]+)', block):
                self.assertTrue((pathlib.Path(folder) / output).exists(), output)

    def test_every_block_is_run_or_installs(self) -> None:
        run = [text for _, text in BLOCKS if INSTALLS.sub("", text).strip()]
        self.assertEqual(len(run), 3, "a block came to README.md or left it: test it here")

    def test_installed_packages_are_there(self) -> None:
        project = (ROOT / "scripts/emplace/pyproject.toml").read_text(encoding="utf-8")
        extras = re.findall(r"pip install '?\./scripts/emplace(?:\[(\w+)\])?", "".join(text for _, text in BLOCKS))
        self.assertEqual(extras, ["", "torch"])
        self.assertIn("\ntorch = [", project)

    @unittest.skipUnless(has("emplace"), "no package emplace in build/python")
    def test_python(self) -> None:
        self.run_block("python", "emplace.run", {})

    @unittest.skipUnless(has("emplace, torch"), "no package emplace or torch in build/python")
    def test_model(self) -> None:
        self.run_block("sh", "emplace import", {"my_model.py": MODEL})

    def test_machine(self) -> None:
        self.run_block("sh", "emplace profile", {})


if __name__ == "__main__":
    unittest.main()
