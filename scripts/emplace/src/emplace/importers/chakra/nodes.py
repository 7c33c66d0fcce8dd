"""Chakra's own nodes as a graph: one op per node, with the dependencies of the trace."""

from __future__ import annotations

import ast
import collections
from typing import Any

from .. import Dropped, ImportFailure, graph_file
from ..traces import collectives

_KINDS = {"COMP_NODE": "chakra.comp", "MEM_LOAD_NODE": "chakra.mem_load", "MEM_STORE_NODE": "chakra.mem_store",
          "COMM_SEND_NODE": "chakra.send", "COMM_RECV_NODE": "chakra.recv", "STORAGE_NODE": "chakra.storage",
          "BATCH_NODE": "chakra.batch", "CHECKPOINT_NODE": "chakra.checkpoint"}
_COLLECTIVES = ("all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter",
                "reduce_scatter_block", "barrier")


def build(nodes: list[dict[str, Any]], graph: graph_file.GraphBuilder, device_kind: str | None, path: str,
          strict: bool = False) -> list[Dropped]:
    """Fills `graph` and returns the dropped parts.

    Throws ImportFailure if the trace contradicts itself; strict: also if an edge leads to no node of the trace.
    """
    by_id: dict[int, dict[str, Any]] = {}
    for node in nodes:
        if by_id.setdefault(node["id"], node) is not node:
            raise ImportFailure(f"{path}: two nodes have the id {node['id']}: {by_id[node['id']]['name']!r} and "
                                f"{node['name']!r}")
    told = _drop_edges(nodes, by_id, path, strict)
    on_device = any(node["attr"].get("is_cpu_op") is False for node in nodes)
    left_out = {node["id"] for node in nodes if node["type"] in ("METADATA_NODE", "INVALID_NODE")
                or (on_device and node["attr"].get("is_cpu_op"))}
    kept = [node for node in nodes if node["id"] not in left_out]
    if not kept:
        raise ImportFailure(f"{path}: none of its {len(nodes)} nodes does work")
    results: dict[int, int] = {}
    ids = {node["id"]: index for index, node in enumerate(kept)}
    through = _through([by_id[number] for number in by_id if number in left_out], ids)
    data, control = ({node["id"]: _waits(node, key, kept, ids, through) for node in kept}
                     for key in ("data_deps", "ctrl_deps"))
    names: collections.Counter[str] = collections.Counter()
    unsized = 0
    for node in kept:
        size = _result_bytes(node)
        unsized += size is None
        shape, dtype = _result_shape(node)
        results[node["id"]] = graph.tensor(f"{node['name'] or 'node'}#{node['id']}", shape, dtype, num_bytes=size or 0)
    measured = 0
    for node in kept:
        name = node["name"] or "node"
        names[name] += 1
        duration = _duration(node, path)
        work = node["attr"].get("num_ops") or 0
        if isinstance(work, bool) or not isinstance(work, (int, float)) or not 0 <= work < 1e300:
            raise ImportFailure(f"{path}: node {node['id']} {name!r}: num_ops is {work!r}, expected a number >= 0")
        measured += duration > 0
        graph.op(f"{name}#{node['id']}", _kind(node), [results[other] for other in data[node["id"]]],
                 [results[node["id"]]], control_inputs=[ids[other] for other in control[node["id"]]
                                                        if other not in data[node["id"]]], flops=work,
                 cost_ns={device_kind: duration} if device_kind and (duration or not work) else {},
                 attributes=_attributes(node))
    host = sum(1 for node in nodes if node["id"] in left_out and node["attr"].get("is_cpu_op"))
    if on_device and host:
        told.append(Dropped("host nodes", host, "the trace has nodes of a device, so nodes that waited for the host "
                                                "wait for the nodes that the host waited for"))
    if len(left_out) > (host if on_device else 0):
        told.append(Dropped("nodes of metadata", len(left_out) - (host if on_device else 0), "no work"))
    if unsized:
        told.append(Dropped("sizes of results", unsized, "the trace has none; counted as 0 bytes"))
    communication = sum(node["type"].startswith("COMM_") for node in kept)
    if communication:
        told.append(Dropped("other ranks", communication, "communication is an op of the one rank of the trace, with "
                            "its measured time"))
    told.append(Dropped("phases and parameters", len(kept), "a Chakra trace does not have them; all ops are forward, "
                                                            "and the initial contents of memory are not known"))
    return told


def _drop_edges(nodes: list[dict[str, Any]], by_id: dict[int, dict[str, Any]], path: str,
                strict: bool) -> list[Dropped]:
    """Removes edges to nodes that the trace does not have, and of nodes to themselves."""
    told = []
    for key in ("data_deps", "ctrl_deps"):
        missing = [(node, other) for node in nodes for other in node[key] if other not in by_id]
        if missing and strict:
            node, other = missing[0]
            raise ImportFailure(f"{path}: node {node['id']} {node['name']!r}: {key} names {other}, but there is no "
                                f"such node ({len(missing):,} such edges)")
        loops = sum(other == node["id"] for node in nodes for other in node[key])
        for node in nodes:
            node[key] = [other for other in node[key] if other in by_id and other != node["id"]]
        if missing:
            told.append(Dropped(f"edges of {key}", len(missing), f"they lead to {len({other for _, other in missing})} "
                                                                 "nodes that the trace does not have; --strict refuses "
                                                                 "them"))
        if loops:
            told.append(Dropped(f"edges of {key}", loops, "they lead from a node to itself"))
    return told


def _duration(node: dict[str, Any], path: str) -> int:
    """Returns the duration [ns]. Throws ImportFailure if it is negative; a varint of it is near 2^64."""
    if not 0 <= node["duration_micros"] < 1 << 50:
        value = node["duration_micros"] - ((node["duration_micros"] >> 63) << 64)
        raise ImportFailure(f"{path}: node {node['id']} {node['name']!r}: duration_micros is {value}, expected a "
                            f"number >= 0")
    return int(1000 * node["duration_micros"])


def has_durations(nodes: list[dict[str, Any]]) -> bool:
    return any(node["duration_micros"] for node in nodes)


def _through(left_out: list[dict[str, Any]], ids: dict[int, int]) -> dict[int, int]:
    """Returns for each left-out node the kept nodes that it waits for, by any edge and through other left-out nodes.

    Bit i of the value stands for kept node i. ids: node -> i.
    """
    found = {node["id"]: 0 for node in left_out}
    changed = True
    while changed:  # again for edges to nodes that stand later in the file
        changed = False
        for node in left_out:
            waits = found[node["id"]]
            for other in (*node["data_deps"], *node["ctrl_deps"]):
                waits |= 1 << ids[other] if other in ids else found[other]
            changed |= waits != found[node["id"]]
            found[node["id"]] = waits
    return found


def _waits(node: dict[str, Any], key: str, kept: list[dict[str, Any]], ids: dict[int, int],
           through: dict[int, int]) -> list[int]:
    """Returns the kept nodes that a kept node waits for: those it names, then those that left-out nodes wait for."""
    direct = dict.fromkeys(other for other in node[key] if other in ids)
    rest = 0
    for other in node[key]:
        rest |= through.get(other, 0)
    behind = (kept[place]["id"] for place in range(rest.bit_length()) if rest >> place & 1)
    return [*direct, *(other for other in behind if other not in direct and other != node["id"])]


def _kind(node: dict[str, Any]) -> str:
    if node["type"] == "COMM_COLL_NODE":
        number = node["attr"].get("comm_type")
        known = isinstance(number, int) and 0 <= number < len(_COLLECTIVES)
        return f"collective.{_COLLECTIVES[number]}" if known else f"collective.{_by_name(node['name'])}"
    name = node["name"]
    if node["type"] == "COMP_NODE" and name.startswith("aten::"):
        return "aten." + name[len("aten::"):].rstrip("_")
    return _KINDS[node["type"]]


def _by_name(name: str) -> str:
    found = collectives.of_operator(name) or collectives.of_range(name)
    return found or (collectives.of_kernel(name) if collectives.is_kernel(name) else "other")


def _literal(text: Any) -> list[Any]:
    """Parses a list that is written in Python's syntax."""
    if isinstance(text, list):
        return text
    try:
        value = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError):
        return []
    return list(value) if isinstance(value, (list, tuple)) else []


def _result_bytes(node: dict[str, Any]) -> int | None:
    """Returns the size of all results [B].

    It comes from tensors [id, storage, offset, elements, bytes per element, device], else from the attributes.
    """
    values = _literal(node["outputs"].get("values"))
    tensors = [value for value in values if isinstance(value, (list, tuple)) and len(value) >= 5
               and all(isinstance(number, int) for number in value[:5])]
    if tensors:
        return sum(value[3] * value[4] for value in tensors)
    for key in ("tensor_size", "comm_size"):
        size = node["attr"].get(key)
        if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            return size
    return None


def _result_shape(node: dict[str, Any]) -> tuple[list[int], str]:
    from ..traces import aten
    shapes, types = _literal(node["outputs"].get("shapes")), _literal(node["outputs"].get("types"))
    if len(shapes) == 1 and all(isinstance(size, int) and size >= 0 for size in shapes[0]):
        return list(shapes[0]), aten.dtype(str(types[0])) if types else ""
    return [], ""


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    kept = ("comm_type", "comm_size", "pg_name", "comm_src", "comm_dst", "comm_tag", "involved_dim", "stream")
    return {key: node["attr"][key] for key in kept if node["attr"].get(key) is not None}
