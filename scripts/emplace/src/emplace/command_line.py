"""The command `emplace` of the package: that of the C++ program, with `import` beside it."""

from __future__ import annotations

import sys
from typing import Sequence

from .importers import command as import_command

COMMANDS = {"import": import_command.main}  # those that the C++ program does not have


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line without the program's name; returns its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    try:
        from . import _emplace
    except ImportError as error:
        print(f"emplace: the compiled part of the package does not load ({error}); from the source tree only "
              f"{', '.join(COMMANDS)} is there: pip install ./scripts/emplace for the rest", file=sys.stderr)
        return 2
    return _emplace.run_program(["emplace", *arguments])
