"""Finds and calls a function of the user's own Python file; reports its failures in one sentence."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from typing import Any, Callable

from . import ImportFailure


def split(model: str, function: str | None, default: str) -> tuple[str, str]:
    """Returns (file, function) of `FILE.py:NAME`, or of `FILE.py` and --function.

    Throws ImportFailure.
    """
    path, colon, name = model.rpartition(":")
    if not colon or not path.endswith(".py"):
        return model, function or default
    if function not in (None, name):
        raise ImportFailure(f"{model}: names the function {name!r}, but --function names another one, {function!r}")
    return path, name


def load_function(path: str, name: str) -> Callable[..., Any]:
    """Returns the function `name` of the Python file `path`; the file can import from its own folder.

    Throws ImportFailure: no file, a file that does not run, no such function.
    """
    if not os.path.isfile(path):
        raise ImportFailure(f"there is no file {path!r}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("user_model", path)
    if spec is None or spec.loader is None:
        raise ImportFailure(f"{path!r} is not a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    _guarded(path, "running it", lambda: spec.loader.exec_module(module))
    if not callable(getattr(module, name, None)):
        functions = [key for key, value in vars(module).items()
                     if callable(value) and getattr(value, "__module__", "") == "user_model"]
        raise ImportFailure(f"{path!r} has no function {name!r}; choices: {', '.join(functions) or 'none'}")
    return getattr(module, name)


def call(path: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Returns the result of the user's function. Throws ImportFailure with the user's line if it fails."""
    name = getattr(function, "__name__", "the function")
    return _guarded(path, f"{name}()", lambda: function(*arguments, **named))


def _guarded(path: str, what: str, action: Callable[[], Any]) -> Any:
    """Runs action(); an exception of the user's code becomes one sentence with its line."""
    try:
        return action()
    except ImportFailure:
        raise
    except SyntaxError as error:
        raise ImportFailure(f"{error.filename or path}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename == os.path.abspath(path) or frame.filename == path]
        place = f"{path}:{lines[-1]}" if lines else path
        first = (str(error).strip().splitlines() or [""])[0]
        raise ImportFailure(f"{place}: {what} failed: {type(error).__name__}: {first}") from error
