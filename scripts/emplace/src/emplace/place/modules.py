"""Which modules of a PyTorch model can have a device of their own: the units of a device_map.

Hooks move what *enters* a module with a device of its own; between two ops of one forward() nothing moves. So units
are chosen from the root down, by the rules of `emplace export --to huggingface` (experiments/export/export_modules.h):

- a module without children in the graph is a unit;
- so is a *block*: a module one of whose own ops joins what came from outside with what was made inside, as a residual
  block adds its input to its output; and each module of a class that must not be split (`no_split_modules`);
- of any other module the children are looked at; its own parameters and buffers are units of their own.

An op outside of all units follows: a backward op its forward op, any other the first of its inputs that has a unit, one
that reads nothing its first reader. Units that such an op joins, or that read each other's parameters (tied weights),
are bound together.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence

from . import grain
from .grain import Grain, PlaceFailure, is_source

_OUTSIDE = ""


def within(path: str, module: str) -> bool:
    """Is `path` that module or below it? All are below the root ""."""
    return not module or path == module or path.startswith(module + ".")


def paths_to(module: str) -> list[str]:
    """"h", "h.0", "h.0.attn" of "h.0.attn"."""
    parts = module.split(".") if module else []
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def path_of(op: Mapping[str, Any]) -> str:
    """The module of an op; "" for the root, and for an op without one."""
    return str(op.get("attributes", {}).get("module") or "")


def is_state(document: Mapping[str, Any], op: Mapping[str, Any]) -> bool:
    """Is it a parameter or a buffer, not optimiser state?"""
    outputs = op["outputs"]
    return op["kind"] == "parameter" and bool(outputs) and \
        document["tensors"][outputs[0]].get("role") != "optimizer_state"


def find(document: dict[str, Any], no_split: Iterable[str] = ()) -> Grain:
    """The units of a graph of `emplace import --from torch`. no_split: paths of modules that stay whole.

    Throws PlaceFailure for a graph without module paths.
    """
    if not any(path_of(op) for op in document["ops"]):
        raise PlaceFailure(f"graph {document['name']!r}: no op tells its module (attributes.module), so there are no "
                           "modules to give devices to; expected a model of PyTorch (--from torch)")
    return _Finder(document, set(no_split)).find()


class _Finder:
    def __init__(self, document: dict[str, Any], blocks: set[str]) -> None:
        self._document = document
        self._ops = document["ops"]
        self._paths = [path_of(op) for op in self._ops]
        self._made = grain.producers(document)
        self._order = grain.order(document)
        self._blocks = blocks
        self._parents = {parent for path in set(self._paths) for parent in ["", *paths_to(path)][:-1]}
        self._names: dict[str, int] = {}

    def find(self) -> Grain:
        self._find_blocks()
        units = [self._unit_of(op) for op in range(len(self._ops))]
        inside = list(units)
        self._follow(units)
        joined = self._bound(units, inside)
        names = list(self._names)
        rest = len(names)
        if any(unit is None for unit in units):
            names.append("(ops of no module)")
        return grain.make(self._document, names, [rest if unit is None else unit for unit in units], joined)

    def _is_forward(self, op: int) -> bool:
        return self._ops[op].get("phase", "forward") == "forward" and not is_source(self._ops[op])

    def _inputs(self, op: int) -> list[int]:
        """Ops that make its inputs, in order."""
        return [made for made in (self._made[t] for t in self._ops[op]["inputs"]) if made is not None]

    def _find_blocks(self) -> None:
        """Values that an op of module m reads come from a child, m's own state ("m") or outside, seen from m."""
        sources: list[set[str]] = [set() for _ in self._ops]
        for op in self._order:
            module = self._paths[op]
            if not module or module not in self._parents or not self._is_forward(op):
                continue
            for other in self._inputs(op):
                if self._paths[other] == module:
                    sources[op] |= {module} if is_state(self._document, self._ops[other]) else sources[other]
                elif within(self._paths[other], module):
                    child = self._paths[other][len(module) + 1:].split(".")[0]
                    sources[op].add(f"{module}.{child}")
                else:
                    sources[op].add(_OUTSIDE)
            if len(sources[op]) > 1 and _OUTSIDE in sources[op]:
                self._blocks.add(module)

    def _unit_of(self, op: int) -> int | None:
        """None: outside of all units."""
        name = next((path for path in paths_to(self._paths[op])
                     if path in self._blocks or path not in self._parents), "")
        if not name and is_state(self._document, self._ops[op]):
            name = self._ops[op]["name"]
        return self._names.setdefault(name, len(self._names)) if name else None

    def _follow(self, units: list[int | None]) -> None:
        number = {op["name"]: op["id"] for op in self._ops}
        for op in self._order:
            if units[op] is not None:
                continue
            forward = number.get(self._ops[op].get("attributes", {}).get("forward_op"))
            candidates = [*([forward] if forward is not None else []), *self._inputs(op)]
            units[op] = next((units[other] for other in candidates if units[other] is not None), None)
        readers: list[list[int]] = [[] for _ in self._ops]
        for op in range(len(self._ops)):
            for other in self._inputs(op):
                readers[other].append(op)
        for op in reversed(self._order):
            if units[op] is None:
                units[op] = next((units[reader] for reader in readers[op] if units[reader] is not None), None)

    def _bound(self, units: Sequence[int | None], inside: Sequence[int | None]) -> list[tuple[int, int]]:
        """Pairs of units that an op outside of units joins, or of which one reads the other's state."""
        pairs = []
        for op in range(len(self._ops)):
            unit = units[op]
            is_loss = not self._paths[op] and self._ops[op]["name"].startswith("loss/")
            if unit is None or is_loss or not self._is_forward(op):
                continue
            for other in self._inputs(op):
                entered = inside[op] is not None and not is_state(self._document, self._ops[other])
                source = units[other]
                if source is not None and source != unit and not entered:
                    pairs.append((unit, source))
        return pairs
