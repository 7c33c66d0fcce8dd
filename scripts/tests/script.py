"""What tests of scripts share: loads those whose names have no ending, and finds the package's support.py."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys
from typing import Any

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "emplace" / "tests")]


def load(name: str) -> Any:
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPTS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module  # dataclasses look there
    sys.dont_write_bytecode = True  # no cache beside the script
    loader.exec_module(module)
    return module
