"""Explains in one sentence why a model cannot be recorded: the failure, its place in the model, and a remedy."""

from __future__ import annotations

import os
import traceback

import torch
from torch._subclasses import fake_tensor

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def explain(name: str, error: Exception, module: str | None, capture: str) -> str:
    """Returns the sentence; `module`: path of the module whose code raised, or "model", "loss"."""
    where = _place(error)
    if module not in (None, "model"):
        where += " in the loss" if module == "loss" else f" in module {module!r}"
    first = str(error).strip().split("\n")[0]
    if isinstance(error, fake_tensor.DataDependentOutputException):
        return (f"{name}: data-dependent control flow{where}: {error.func} reads a tensor's value "
                "in Python (`if tensor`, `.item()`, `int(tensor)`), but a graph has the same ops "
                "for all data; use torch.where, or make it a constant")
    if isinstance(error, fake_tensor.DynamicOutputShapeException):
        return (f"{name}: data-dependent shape{where}: the size of what {error.func} returns "
                "depends on the data, but a graph has fixed shapes; use a mask or torch.where")
    if isinstance(error, fake_tensor.UnsupportedOperatorException):
        return (f"{name}: {first}{where}: PyTorch knows no shape rule (fake kernel) for this op; "
                "register one with torch.library.register_fake")
    hint = "" if where or capture == "eager" else "; --capture eager does not use AOTAutograd"
    return f"{name}: {type(error).__name__}{where}: {first}{hint}"


def _place(error: Exception) -> str:
    """Returns ` at FILE:LINE (code)` of the last call outside PyTorch and this package, or an empty text."""
    skipped = (os.path.dirname(torch.__file__) + os.sep, _OURS, "<")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith(skipped)]
    if not frames:
        return ""
    line = f" ({frames[-1].line})" if frames[-1].line else ""
    return f" at {frames[-1].filename}:{frames[-1].lineno}{line}"
