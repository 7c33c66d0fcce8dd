"""PyTorch's execution traces (ExecutionTraceObserver; JSON, "schema": "1.0.1" to "1.1.1-chakra..."), as nodes.

A node names the operator that was called and its tensors. `ctrl_deps` (older: `parent`) is the call that made
this call. Additions of chakra_trace_link (durations, kernels) are read if they are present.
"""

from __future__ import annotations

from typing import Any, Mapping

from .. import ImportFailure
from ..traces import aten, collectives
from ..traces.calls import Node, Ref


MOST_MISSING = 0.01  # share of nodes whose parent may be missing
DEEPEST = 400        # levels of nodes inside nodes


def roots(document: Mapping[str, Any], path: str) -> list[Node]:
    """Returns the outermost nodes, each with its children. Throws ImportFailure with the node that is wrong."""
    records = document.get("nodes")
    if not isinstance(records, list) or not records:
        raise ImportFailure(f"{path}: 'nodes' is {type(records).__name__}, expected a list with the nodes of the trace")
    nodes: dict[int, Node] = {}
    parents: dict[int, int] = {}
    kernels: dict[int, int] = {}
    for place, record in enumerate(records):
        where = f"{path}: nodes[{place}]"
        if not isinstance(record, dict) or not isinstance(record.get("id"), int) \
                or not isinstance(record.get("name"), str):
            raise ImportFailure(f"{where}: expected an object with 'id' (a number) and 'name'")
        number = record["id"]
        if number in nodes:
            raise ImportFailure(f"{where} {record['name']!r}: the id {number} is used twice")
        parent = record.get("ctrl_deps", record.get("parent"))
        if not isinstance(parent, int):
            raise ImportFailure(f"{where} {record['name']!r}: ctrl_deps is {parent!r}, expected the id of a node")
        if record.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            kernels[parent] = kernels.get(parent, 0) + _nanoseconds(record.get("dur", 0), where)
            continue
        try:
            nodes[number] = _node(record, f"{where} {record['name']!r}")
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ImportFailure(f"{where} {record['name']!r}: cannot be read: {type(error).__name__}: "
                                f"{error}") from None
        parents[number] = parent
    for number, duration in kernels.items():
        if number in nodes:
            nodes[number].device = duration
    top = []
    for number, node in nodes.items():
        parent = parents[number]
        if parent == number or parent not in nodes:
            top.append(node)
        else:
            nodes[parent].children.append(node)
    _check(nodes, parents, top, path)
    return top


def _check(nodes: Mapping[int, Node], parents: Mapping[int, int], top: list[Node], path: str) -> None:
    """Throws ImportFailure if nodes are missing, in a cycle, nested too deeply, or have the number of another call."""
    missing = [number for number, parent in parents.items() if parent not in nodes and nodes[number] is not top[0]]
    if len(missing) > MOST_MISSING * len(nodes):
        first = missing[0]
        raise ImportFailure(f"{path}: {len(missing):,} of {len(nodes):,} nodes are inside nodes that the trace does "
                            f"not have, such as {first} {nodes[first].name!r} inside {parents[first]}; the file is "
                            f"cut off")
    reached, level = 0, top
    for _ in range(DEEPEST):
        reached += len(level)
        level = [child for node in level for child in node.children]
    if level:
        raise ImportFailure(f"{path}: more than {DEEPEST} nodes are inside each other, the innermost are "
                            f"{level[0].name!r}")
    if reached < len(nodes):
        raise ImportFailure(f"{path}: {len(nodes) - reached:,} of {len(nodes):,} nodes are inside each other; "
                            f"ctrl_deps form a cycle")
    numbers: dict[int, Node] = {}
    for node in nodes.values():
        if node.id and numbers.setdefault(node.id, node) is not node:
            raise ImportFailure(f"{path}: two calls have the rf_id {node.id}: {numbers[node.id].name!r} and "
                                f"{node.name!r}")


def _node(record: Mapping[str, Any], where: str) -> Node:
    attributes = {item["name"]: item.get("value") for item in record.get("attrs", [])}
    attributes |= {key: record[key] for key in ("rf_id", "seq_id", "op_schema") if key in record}
    sequence = int(attributes.get("seq_id", -1))
    duration = record.get("inclusive_dur", record.get("dur"))
    name = record["name"]
    backward = "Backward" in name
    inputs = _arguments(record, "input")
    recorded = collectives.of_arguments(inputs) if name == collectives.PARAMETERS else {}
    return Node(id=int(attributes.get("rf_id", record["id"])), name=name,
                order=float(attributes.get("rf_id", record["id"])), inputs=inputs, recorded=recorded,
                outputs=_arguments(record, "output"), schema=str(attributes.get("op_schema") or ""),
                sequence=-1 if backward else sequence, forward_sequence=sequence if backward else -1,
                duration=None if duration is None else _nanoseconds(duration, where))


def _nanoseconds(microseconds: Any, where: str) -> int:
    if isinstance(microseconds, bool) or not isinstance(microseconds, (int, float)) or not 0 <= microseconds < 1e300:
        raise ImportFailure(f"{where}: a duration is {microseconds!r}, expected a number of microseconds")
    return round(1000 * microseconds)


def _arguments(record: Mapping[str, Any], side: str) -> list[Any]:
    """Returns the arguments or results: tensors as Ref, lists of tensors as lists, other values unchanged."""
    group = record.get(side + "s", [])
    if isinstance(group, dict):
        values, shapes, types = group.get("values", []), group.get("shapes", []), group.get("types", [])
        strides = group.get("strides") or []
    else:
        values, shapes, types, strides = group, record.get(side + "_shapes", []), record.get(side + "_types", []), []
    if not len(values) == len(shapes) == len(types):
        raise ValueError(f"{len(values)} {side}s, {len(shapes)} shapes, {len(types)} types")
    if not all(isinstance(kind, str) for kind in types):
        raise ValueError(f"the types of {side}s are {types!r}, expected texts")
    return [_argument(value, shape, kind, strides[index] if index < len(strides) else None)
            for index, (value, shape, kind) in enumerate(zip(values, shapes, types))]


def _argument(value: Any, shape: Any, kind: str, stride: Any) -> Any:
    if kind.startswith("Tensor(") and isinstance(value, list) and len(value) >= 5:
        tensor, storage, offset, _, item = value[:5]
        device = value[5] if len(value) > 5 else ""
        if not all(isinstance(number, int) for number in (tensor, storage, offset, item)) \
                or not isinstance(device, str):
            raise ValueError(f"a tensor is {value!r}, expected [id, storage, offset, elements, bytes of one, device]")
        if not isinstance(shape, list) or not all(isinstance(size, int) and 0 <= size < 2**48 for size in shape):
            raise ValueError(f"a shape is {shape!r}, expected whole numbers >= 0")
        if "nullptr" in kind or item <= 0:
            return None
        size = item
        for length in shape:
            size *= length
        return Ref(storage=(device, storage), view=(tensor, offset, str(stride)), shape=tuple(shape),
                   dtype=aten.dtype(kind), num_bytes=size)
    if kind.startswith("GenericList[") and "Tensor(" in kind:
        kinds = _kinds(kind[len("GenericList["):-1])
        strides = stride if isinstance(stride, list) and len(stride) == len(value) else [None] * len(value)
        return [_argument(*each) for each in zip(value, shape, kinds, strides)]
    return None if value == "<None>" else value


def _kinds(text: str) -> list[str]:
    """Returns the types in a list type, split at commas outside of brackets."""
    kinds, depth = [""], 0
    for letter in text:
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and depth == 0:
            kinds.append("")
        else:
            kinds[-1] += letter
    return kinds
