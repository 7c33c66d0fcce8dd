"""The model `FILE.py:FUNCTION`: a step and its arguments, as a function of a user's file returns them."""

from __future__ import annotations

import dataclasses
import json
import os
import traceback
from typing import Any, Callable, Mapping, Sequence

from emplace.importers import ImportFailure, user_code

_KEYS = ("step", "arguments", "parameters", "optimizer_state", "buffers")


@dataclasses.dataclass
class Step:
    """A function to trace and its arguments. declared: see state.py, by the keys of state.ROLES."""

    step: Callable[..., Any]
    arguments: Sequence[Any]
    declared: dict[str, Sequence[str]]


def load(model: str, settings: Mapping[str, Any]) -> Step:
    """Runs FUNCTION of FILE.py with the settings. Throws ImportFailure if it does not exist or fails."""
    path, colon, name = model.rpartition(":")
    if not colon or not path.endswith(".py") or not name.isidentifier():
        raise ImportFailure(f"{model}: expected FILE.py:FUNCTION")
    function = user_code.load_function(path, name)
    return _understood(model, user_code.call(path, function, **settings))


def setting(text: str) -> tuple[str, Any]:
    """Splits "name=value"; the value is JSON, else text. Throws ImportFailure."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ImportFailure(f"--set {text}: expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def guarded(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a user's function. Throws ImportFailure with the first line of its error and where it was raised."""
    try:
        return function(*arguments)
    except ImportFailure:
        raise
    except Exception as error:
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "site-packages" not in frame.filename
               and os.path.dirname(frame.filename) != os.path.dirname(__file__)
               and not frame.filename.startswith("<")]
        where = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
        raise ImportFailure(f"{what}: {type(error).__name__}: {text}{where}") from None


def _understood(model: str, said: Any) -> Step:
    if not isinstance(said, Mapping):
        raise ImportFailure(f"{model}: returned {type(said).__name__}, expected a dict with {', '.join(_KEYS)}")
    unknown = sorted(str(key) for key in said if key not in _KEYS)
    if unknown:
        raise ImportFailure(f"{model}: returned the unknown key {unknown[0]!r}; choices: {', '.join(_KEYS)}")
    missing = [key for key in _KEYS[:2] if key not in said]
    if missing:
        raise ImportFailure(f"{model}: returned no {missing[0]!r}")
    if not callable(said["step"]) or not isinstance(said["arguments"], (tuple, list)):
        raise ImportFailure(f"{model}: 'step' must be a function, 'arguments' a tuple of its arguments")
    return Step(said["step"], said["arguments"], {key: listed(said[key]) for key in _KEYS[2:] if key in said})


def listed(value: Any) -> list[str]:
    """Returns one declaration, or several, as a list of texts."""
    return [str(item) for item in (value if isinstance(value, (list, tuple)) else [value])]
