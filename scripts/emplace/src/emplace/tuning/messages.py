"""Errors of a config: file, key, value, and the expected value."""

from __future__ import annotations

import difflib
from typing import Any, Iterable, NoReturn


def refuse(where: str, value: Any, expected: str) -> NoReturn:
    """@throws InputError "WHERE: got VALUE, expected EXPECTED" """
    from .. import InputError

    raise InputError(f"{where}: got {value!r}, expected {expected}")


def refuse_unknown(where: str, what: str, name: str, choices: Iterable[str]) -> NoReturn:
    """@throws InputError with the nearest of the choices, and all of them"""
    from .. import InputError

    names = sorted(choices)
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"{where}: unknown {what} {name!r}; {hint}choices: {', '.join(names) or 'none'}")
