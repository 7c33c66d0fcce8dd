"""A model as a sequence of layers: the part before them, layer 0, 1, ..., and the part after them.

Layers are the children 0, 1, ... of one module ("model.layers", "transformer.h"), the one with the most parameters
below it. Ops outside of the layers that depend on a layer are after them (last norm, head, loss); the others are
before them (embeddings, masks). Backward ops and updates belong to the part of their forward op or parameter.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from . import grain
from .grain import Grain, PlaceFailure, is_source
from .modules import path_of

_NUMBERED = re.compile(r"^(.*?)\.?(\d+)(?:\.|$)")


def container(document: dict[str, Any]) -> tuple[str, int]:
    """Returns the module whose children are the layers, and their number. Throws PlaceFailure if there is none."""
    numbers: dict[str, set[int]] = {}
    size: dict[str, int] = {}
    for op in document["ops"]:
        path = path_of(op)
        parts = path.split(".")
        for index, part in enumerate(parts):
            if part.isdecimal() and index:
                above = ".".join(parts[:index])
                numbers.setdefault(above, set()).add(int(part))
                if op["kind"] == "parameter":
                    size[above] = size.get(above, 0) + sum(document["tensors"][t]["bytes"] for t in op["outputs"])
    rows = [path for path, found in numbers.items() if len(found) > 1 and found == set(range(len(found)))]
    if not rows:
        raise PlaceFailure(f"graph {document['name']!r}: it has no sequence of layers: no module has children 0, 1, "
                           "... (attributes.module); expected a Transformer of --from torch")
    best = max(rows, key=lambda path: (size.get(path, 0), -path.count("."), path))
    return best, len(numbers[best])


def split(document: dict[str, Any]) -> tuple[dict[str, Any], list[int], int]:
    """Returns the document with weights of both ends untied, [num_ops] parts, and the number of layers n.

    Parts: 0 before the layers, 1 ... n the layers, n + 1 after them. A weight that parts at both ends read (tied
    embeddings) is stored twice in a forward pass, as in every runtime that splits layers.
    """
    path, count = container(document)
    parts = _parts(document, path, count)
    if all(op.get("phase", "forward") == "forward" for op in document["ops"]):
        document, parts = untied(document, parts)
    return document, parts, count


def _parts(document: dict[str, Any], path: str, count: int) -> list[int]:
    ops, made = document["ops"], grain.producers(document)
    number = {op["name"]: op["id"] for op in ops}
    parts: list[int | None] = [None] * len(ops)
    behind = [False] * len(ops)
    order = grain.order(document)
    for op in order:
        record = ops[op]
        before = [made[t] for t in record["inputs"] if made[t] is not None]
        behind[op] = any(behind[other] for other in before)
        inside = re.match(rf"{re.escape(path)}\.(\d+)(\.|$)", path_of(record))
        forward = number.get(record.get("attributes", {}).get("forward_op"))
        if inside:
            parts[op], behind[op] = int(inside[1]) + 1, True
        elif is_source(record):
            continue
        elif record.get("phase", "forward") == "forward":
            parts[op] = count + 1 if behind[op] else 0
        elif forward is not None:
            parts[op] = parts[forward]
        else:
            parts[op] = next((parts[other] for other in before if parts[other] is not None), count + 1)
    by_label = {op["colocate"]: parts[op["id"]] for op in reversed(ops)
                if op.get("colocate") and is_source(op) and parts[op["id"]] is not None}
    for op in reversed(order):
        for tensor in ops[op]["inputs"]:
            source = made[tensor]
            inside_layer = source is not None and path_of(ops[source]).startswith(f"{path}.")
            if source is not None and is_source(ops[source]) and not inside_layer \
                    and ops[op].get("phase", "forward") != "update":
                parts[source] = parts[op]
    for op in ops:  # optimiser state and updates are where their parameter is
        label = op.get("colocate")
        if label and is_source(op) and parts[op["id"]] is not None:
            by_label.setdefault(label, parts[op["id"]])
    return [by_label[op["colocate"]] if op.get("colocate") in by_label else (0 if part is None else part)
            for op, part in zip(ops, parts)]


def untied(document: dict[str, Any], parts: Sequence[int]) -> tuple[dict[str, Any], list[int]]:
    """Copies each weight for every part that reads it."""
    tensors, ops, places = list(document["tensors"]), [], list(parts)
    made = grain.producers(document)
    copies: dict[tuple[int, int], int] = {}
    added = []
    for op in document["ops"]:
        inputs = []
        for tensor in op["inputs"]:
            source = made[tensor]
            if source is None or document["ops"][source]["kind"] != "parameter" or \
                    parts[source] == parts[op["id"]]:
                inputs.append(tensor)
                continue
            key = (tensor, parts[op["id"]])
            if key not in copies:
                name = f"{document['ops'][source]['name']}/part{key[1]}"
                copies[key] = len(tensors)
                tensors.append({**tensors[tensor], "id": len(tensors), "name": name})
                added.append(({**document["ops"][source], "name": name, "outputs": [copies[key]]}, key[1]))
            inputs.append(copies[key])
        renamed = dict(zip(op["inputs"], inputs))
        for tensor in op["outputs"]:
            shared = tensors[tensor].get("alias_of")
            if renamed.get(shared, shared) != shared:
                tensors[tensor] = {**tensors[tensor], "alias_of": renamed[shared]}
        ops.append({**op, "inputs": inputs})
    for record, part in added:
        ops.append({**record, "id": len(ops)})
        places.append(part)
    return {**document, "tensors": tensors, "ops": ops}, places


def as_grain(document: dict[str, Any], parts: Sequence[int], count: int) -> Grain:
    """Returns all parts as units, in their own order. Throws PlaceFailure if a part is empty."""
    names = ["before the layers", *(f"layer {index}" for index in range(count)), "behind the layers"]
    empty = sorted(set(range(count + 2)) - set(parts))
    if empty:
        raise PlaceFailure(f"graph {document['name']!r}: {names[empty[0]]!r} is empty")
    labels: dict[str, int] = {}
    for op, part in zip(document["ops"], parts):
        label = op.get("colocate")
        if label and labels.setdefault(label, part) != part:
            raise PlaceFailure(f"graph {document['name']!r}: the colocate label {label!r} ties {names[part]!r} to "
                               f"{names[labels[label]]!r}")
    return Grain(document, names, list(parts))
