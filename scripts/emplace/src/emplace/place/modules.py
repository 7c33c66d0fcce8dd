"""The modules of a PyTorch model that can have a device of their own: the units of a device_map.

The rules are those of `emplace export --to huggingface`: experiments/export/export_modules.h.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from . import grain
from .grain import Grain


def within(path: str, module: str) -> bool:
    """Returns whether `path` is that module or below it. All paths are below the root ""."""
    return not module or path == module or path.startswith(module + ".")


def paths_to(module: str) -> list[str]:
    """Returns "h", "h.0", "h.0.attn" for "h.0.attn"."""
    parts = module.split(".") if module else []
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def path_of(op: Mapping[str, Any]) -> str:
    """Returns the module of an op; "" for the root, and for an op without one."""
    return str(op.get("attributes", {}).get("module") or "")


def is_state(document: Mapping[str, Any], op: Mapping[str, Any]) -> bool:
    """Returns whether the op is a parameter or a buffer, not optimiser state."""
    outputs = op["outputs"]
    return op["kind"] == "parameter" and bool(outputs) and \
        document["tensors"][outputs[0]].get("role") != "optimizer_state"


def find(document: dict[str, Any], no_split: Iterable[str] = ()) -> Grain:
    """Returns the units of a graph of `emplace import --from torch`. no_split: paths of modules that stay whole.

    Throws InputError for a graph without module paths.
    """
    names, unit_of_op, bound = grain.compiled(document).module_units(list(no_split))
    rest = len(names)
    if -1 in unit_of_op:
        names.append("(ops of no module)")
    return grain.make(document, names, [rest if unit < 0 else unit for unit in unit_of_op],
                      [(units[0], unit) for units in bound for unit in units[1:]])
