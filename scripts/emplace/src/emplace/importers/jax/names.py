"""Names and attributes of ops: the module, the forward op of a gradient, a primitive's parameters."""

from __future__ import annotations

import collections
import math
from typing import Any, Mapping, Sequence

from emplace.importers.jax.flatten import Flat, Node

MAX_LISTED = 64  # elements of a list in the attributes
# Parameters of primitives that affect only the execution, or that graph files do not use.
_LEFT_OUT = frozenset("""sharding out_sharding accuracy mode unique_indices indices_are_sorted weak_type
    fill_value""".split())


def name_of(node: Node, phase: str, label: str | None) -> str:
    """Returns the name of a node.

    Examples: "MLP/Dense_0/dot_general"; "backward/MLP/Dense_0/dot_general"; "update/params/Dense_0/kernel/mul".
    """
    where = label if phase == "update" and label else node.scope
    before = "" if phase == "forward" else phase
    return "/".join(filter(None, (before, where, node.primitive)))


def attributes_of(node: Node) -> dict[str, Any]:
    """Returns the module, and the primitive's parameters that are numbers, texts or lists of them."""
    found: dict[str, Any] = {"module": node.scope} if node.scope else {}
    for name in sorted(node.parameters):
        value = _plain(node.parameters[name])
        if value is not None and name not in _LEFT_OUT:
            found[name] = value
    return found


def forward_ops(flat: Flat, phase: Sequence[str], root: Mapping[int, int]) -> dict[int, int]:
    """Returns for gradient nodes the forward node of which they are the gradient, if it is unambiguous.

    It is the forward node of the same module and primitive that shares an operand (a factor of a product) with the
    gradient node, or the only forward node of that module and primitive.
    """
    by_module: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    operands: list[set[int]] = []
    for node in flat.nodes:
        operands.append({root.get(value, value) for value in node.inputs})
    through = _through_transposes(flat, root)
    found = {}
    for i, node in enumerate(flat.nodes):
        if phase[i] == "forward":
            by_module[node.scope, node.primitive].append(i)
        elif phase[i] == "backward" and node.is_backward:
            candidates = by_module[node.scope, node.primitive]
            mine = {through.get(value, value) for value in operands[i]}
            sharing = [j for j in candidates
                       if mine & {through.get(value, value) for value in operands[j]}]
            if len(sharing) == 1 or len(candidates) == 1:
                found[i] = (sharing or candidates)[0]
    return found


def _through_transposes(flat: Flat, root: Mapping[int, int]) -> dict[int, int]:
    """Maps each transposed value to the value before the transpose."""
    found: dict[int, int] = {}
    for node in flat.nodes:
        if node.primitive == "transpose" and node.inputs:
            source = root.get(node.inputs[0], node.inputs[0])
            found[node.outputs[0]] = found.get(source, source)
    return found


def _plain(value: Any) -> Any:
    """Returns the value as JSON; None if JSON has no such value, or if it is long."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if hasattr(value, "_asdict"):
        fields = {name: _plain(field) for name, field in sorted(value._asdict().items())}
        return {name: field for name, field in fields.items() if field is not None} or None
    if isinstance(value, (tuple, list)):
        items = [_plain(item) for item in value]
        return items if len(items) <= MAX_LISTED and None not in items else None
    if hasattr(value, "lhs_spec"):
        return {name: list(getattr(value, name)) for name in ("lhs_spec", "out_spec", "rhs_spec")}
    return str(value) if type(value).__name__ in ("dtype", "dtypes") or hasattr(value, "itemsize") else None
