"""The text of a PipeDream profile (graph.txt): nodes with times and sizes, and edges."""

from __future__ import annotations

import dataclasses
import math
import re

from .. import ImportFailure

_KEYS = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
_FORM = "NODE -- TEXT -- " + ", ".join(f"{key}=NUMBER" for key in _KEYS) + " [-- stage_id=N]"
_ITEM = re.compile(r"__getitem__\((\d+)\)")


@dataclasses.dataclass
class Node:
    """A layer. Times in [ms]; sizes in [B], one entry of `activations` for each of its results."""

    name: str
    text: str
    forward_ms: float
    backward_ms: float
    activations: list[int]
    parameters: int
    stage: int | None = None
    inputs: list[str] = dataclasses.field(default_factory=list)
    readers: list[str] = dataclasses.field(default_factory=list)

    @property
    def kind(self) -> str:
        """ "Conv2d" of "Conv2d(3, 64, kernel_size=(11, 11))"."""
        return re.match(r"[^(\s]*", self.text)[0] or "node"

    @property
    def is_input(self) -> bool:
        return self.kind.startswith("Input") and not self.inputs

    @property
    def item(self) -> int | None:
        """Returns the index of the input's result that an item access takes; None for other nodes."""
        match = _ITEM.fullmatch(self.text)
        return int(match[1]) if match else None


def parse(text: str, path: str) -> dict[str, Node]:
    """Returns the nodes of a profile by name, in the order of the file.

    Throws ImportFailure with the line that is wrong.
    """
    nodes: dict[str, Node] = {}
    edges: list[tuple[str, str, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        parts = line.strip().split(" -- ")
        where = f"{path}:{number}"
        if line.startswith("\t"):
            if len(parts) != 2:
                raise ImportFailure(f"{where}: got {line.strip()!r}, expected an edge: a tab, then NODE -- NODE")
            edges.append((parts[0], parts[1], number))
            continue
        if len(parts) not in (3, 4):
            raise ImportFailure(f"{where}: got {line.strip()!r}, expected {_FORM}")
        if parts[0] in nodes:
            raise ImportFailure(f"{where}: the node {parts[0]!r} is listed twice")
        nodes[parts[0]] = _node(parts, where)
    if not nodes:
        raise ImportFailure(f"{path}: holds no node; expected lines {_FORM}")
    for before, after, number in edges:
        for name in (before, after):
            if name not in nodes:
                raise ImportFailure(f"{path}:{number}: the edge names {name!r}, but there is no such node")
        if before not in nodes[after].inputs:  # a layer may read the same result twice
            nodes[after].inputs.append(before)
            nodes[before].readers.append(after)
    return nodes


def in_order(nodes: dict[str, Node], path: str) -> list[Node]:
    """Returns the nodes, each after its inputs, otherwise in the order of the file.

    Throws ImportFailure if edges form a cycle.
    """
    state: dict[str, int] = {}  # 1: its inputs are being listed, 2: listed
    order: list[Node] = []
    for start in nodes:
        stack = [start]
        while stack:
            name = stack[-1]
            if state.get(name) == 2:
                stack.pop()
                continue
            state[name] = 1
            waiting = [before for before in nodes[name].inputs if state.get(before) != 2]
            if any(state.get(before) == 1 for before in waiting):
                raise ImportFailure(f"{path}: the edges form a cycle through {name!r}")
            if not waiting:
                state[name] = 2
                order.append(nodes[stack.pop()])
            stack.extend(reversed(waiting))
    return order


def _node(parts: list[str], where: str) -> Node:
    values: dict[str, str] = {}
    for piece in parts[2].split(", "):
        key, equals, value = piece.partition("=")
        if not equals or key not in _KEYS or key in values:
            raise ImportFailure(f"{where}: got {piece!r}; expected each of {', '.join(_KEYS)} once, with =NUMBER")
        values[key] = value
    missing = [key for key in _KEYS if key not in values]
    if missing:
        raise ImportFailure(f"{where}: {', '.join(missing)} is missing")
    sizes = values["activation_size"]
    pieces = sizes[1:-1].split("; ") if sizes.startswith("[") and sizes.endswith("]") else [sizes]
    stage = None
    if len(parts) == 4:
        key, _, text = parts[3].partition("=")
        if key != "stage_id" or not text.isdigit():
            raise ImportFailure(f"{where}: got {parts[3]!r}, expected stage_id=N")
        stage = int(text)
    return Node(parts[0], parts[1], _number(values["forward_compute_time"], "forward_compute_time", where),
                _number(values["backward_compute_time"], "backward_compute_time", where),
                [round(_number(piece, "activation_size", where)) for piece in pieces],
                round(_number(values["parameter_size"], "parameter_size", where)), stage)


def _number(text: str, key: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ImportFailure(f"{where}: {key} is {text!r}, expected a number >= 0")
    return value
