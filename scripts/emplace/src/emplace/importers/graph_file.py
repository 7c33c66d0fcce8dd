#!/usr/bin/env python3
"""Builds, checks, reads and writes `emplace-graph` files (format: framework/graph/FORMAT.md).

An exporter walks its framework's graph and calls a `GraphBuilder`:

    graph = GraphBuilder("two_layers", source={"framework": "torch 2.9", "batch": 32})
    x = graph.tensor("x", [32, 64], "f32", role="input")        # no producer: a graph input
    w = graph.parameter("w", [64, 10], "f32")                   # zero-cost op and its tensor
    y = graph.tensor("y", [32, 10], "f32", role="output")
    graph.op("matmul", "aten.mm", [x, w], [y], flops=2 * 32 * 64 * 10)
    graph.write("two_layers.json.gz")          # checked first; atomic; same bytes every time

As a program it checks files: `python3 -m emplace.importers.graph_file FILE...` prints a summary of each
file, or the first broken rules. It exits with 2 if a file breaks a rule. Likely mistakes (graph_doubts.py)
are warnings, with --strict errors; `write` also warns of them.

Only the Python standard library is needed. Sizes are in bytes [B]. Work is in floating-point operations
[FLOP]; a multiply-add counts as two.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import gzip
import io
import json
import math
import os
import sys
import tempfile
import warnings
from typing import Any, Iterable, Mapping, Sequence

from .dtypes import DTYPE_BITS, dtype_name
from .graph_doubts import RESIDENT_ROLES as RESIDENT_ROLES
from .graph_doubts import SOURCE_KINDS as SOURCE_KINDS
from .graph_doubts import doubts, role_errors

FORMAT = "emplace-graph"
VERSION = 1
ROLES = ("input", "parameter", "buffer", "activation", "gradient", "optimizer_state", "output")
PHASES = ("forward", "backward", "update")
# Bytes of one element [B]. Types such as "str" have no fixed size and need `num_bytes`.
DTYPE_BYTES = {name: bits // 8 for name, bits in DTYPE_BITS.items() if bits >= 8}
MAX_REPORTED_ERRORS = 20
MAX_RANKS = 64


class GraphError(ValueError):
    """A graph breaks the format's rules; the message has one line for each broken rule."""


class GraphWarning(UserWarning):
    """A graph that keeps the format's rules but has a likely mistake."""


@dataclasses.dataclass
class Tensor:
    """One value. `num_bytes` [B]: its size on a device. `alias_of`: the tensor whose memory it shares."""

    id: int
    name: str
    shape: list[int]
    dtype: str
    num_bytes: int
    role: str = "activation"
    alias_of: int | None = None

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"id": self.id, "name": self.name, "shape": self.shape,
                                  "dtype": self.dtype, "bytes": self.num_bytes}
        _put(record, "role", self.role, "activation")
        _put(record, "alias_of", self.alias_of, None)
        return record


@dataclasses.dataclass
class Op:
    """One operation. `inputs`, `outputs` are tensor ids, `control_inputs` op ids.

    flops [FLOP]; bytes_accessed [B], None: bytes of inputs plus outputs; workspace_bytes [B];
    cost_ns: measured time [ns] by device kind; device_kinds, devices: where it may run, None: anywhere
    but on network devices.
    """

    id: int
    name: str
    kind: str
    inputs: list[int]
    outputs: list[int]
    control_inputs: list[int] = dataclasses.field(default_factory=list)
    flops: int | float = 0
    bytes_accessed: int | None = None
    workspace_bytes: int = 0
    phase: str = "forward"
    colocate: str | None = None
    device_kinds: list[str] | None = None
    devices: list[str] | None = None
    cost_ns: dict[str, int] = dataclasses.field(default_factory=dict)
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"id": self.id, "name": self.name, "kind": self.kind,
                                  "inputs": self.inputs, "outputs": self.outputs}
        _put(record, "control_inputs", self.control_inputs, [])
        _put(record, "flops", self.flops, 0)
        _put(record, "bytes_accessed", self.bytes_accessed, None)
        _put(record, "workspace_bytes", self.workspace_bytes, 0)
        _put(record, "phase", self.phase, "forward")
        _put(record, "colocate", self.colocate, None)
        _put(record, "device_kinds", self.device_kinds, None)
        _put(record, "devices", self.devices, None)
        _put(record, "cost_ns", self.cost_ns, {})
        _put(record, "attributes", self.attributes, {})
        return record


class Names:
    """Unique names: the first request for a name gets the name itself, later requests get a number appended.

    taken: names that are in use already.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._last = dict.fromkeys(taken, 0)

    def unique(self, name: str) -> str:
        """Returns `name` or, if that is taken, the first free of `name_1`, `name_2`, ..."""
        candidate = name
        while candidate in self._last:
            self._last[name] += 1
            candidate = f"{name}_{self._last[name]}"
        self._last[candidate] = 0
        return candidate


class GraphBuilder:
    """A graph under construction. Ids are assigned in call order, as the format requires.

    ranks: devices that run the graph together, each with parts of the tensors (FORMAT.md, "Ranks").
    """

    def __init__(self, name: str, source: Mapping[str, Any] | None = None, ranks: int = 1) -> None:
        self.name = name
        self.source = dict(source or {})
        self.ranks = ranks
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []

    def tensor(self, name: str, shape: Sequence[int], dtype: str, *, role: str = "activation",
               num_bytes: int | None = None, alias_of: int | None = None) -> int:
        """Adds a tensor and returns its id. `num_bytes` [B] defaults to the number of elements times their size.

        dtype: a name of FORMAT.md, or the name in a framework: "torch.float16", "half".
        """
        dims = [int(dim) for dim in shape]
        found = dtype_name(dtype)
        if found is None:
            raise GraphError(f"tensor {name!r}: {_unknown_dtype(dtype)}")
        dtype = found
        if num_bytes is None:
            if dtype not in DTYPE_BYTES:
                raise GraphError(f"tensor {name!r}: no element size known for dtype {dtype!r}; "
                                 f"known: {', '.join(DTYPE_BYTES)}; or give num_bytes")
            num_bytes = math.prod(dims) * DTYPE_BYTES[dtype]
        self.tensors.append(Tensor(len(self.tensors), name, dims, dtype, int(num_bytes), role,
                                   alias_of))
        return len(self.tensors) - 1

    def op(self, name: str, kind: str, inputs: Iterable[int], outputs: Iterable[int], *,
           control_inputs: Iterable[int] = (), flops: int | float = 0,
           bytes_accessed: int | None = None, workspace_bytes: int = 0, phase: str = "forward",
           colocate: str | None = None, device_kinds: Sequence[str] | None = None,
           devices: Sequence[str] | None = None,
           cost_ns: Mapping[str, int] | None = None,
           attributes: Mapping[str, Any] | None = None) -> int:
        """Adds an op and returns its id. A `bytes_accessed` equal to the default is not stored."""
        inputs, outputs = list(inputs), list(outputs)
        if bytes_accessed is not None and bytes_accessed == self.default_bytes(inputs, outputs):
            bytes_accessed = None
        self.ops.append(Op(len(self.ops), name, kind, inputs, outputs, list(control_inputs),
                           flops, bytes_accessed, workspace_bytes, phase, colocate,
                           list(device_kinds) if device_kinds is not None else None,
                           list(devices) if devices is not None else None,
                           dict(cost_ns or {}), dict(attributes or {})))
        return len(self.ops) - 1

    def parameter(self, name: str, shape: Sequence[int], dtype: str, *, role: str = "parameter",
                  kind: str = "parameter", **op_options: Any) -> int:
        """Adds a zero-cost op of kind `parameter` (or `constant`) and its tensor; returns its id.

        Optimiser state: role="optimizer_state". Running statistics and constants: role="buffer".
        """
        tensor = self.tensor(name, shape, dtype, role=role)
        self.op(name, kind, [], [tensor], **op_options)
        return tensor

    def default_bytes(self, inputs: Iterable[int], outputs: Iterable[int]) -> int:
        """Returns the bytes of inputs plus outputs [B], as listed: the meaning of an absent `bytes_accessed`."""
        return sum(self.tensors[t].num_bytes for t in [*inputs, *outputs])

    def document(self) -> dict[str, Any]:
        """Returns the whole file as plain Python data; keys that equal their default are left out."""
        return {"format": FORMAT, "version": VERSION, "name": self.name,
                **({"ranks": self.ranks} if self.ranks > 1 else {}), "source": self.source,
                "tensors": [tensor.to_json() for tensor in self.tensors],
                "ops": [op.to_json() for op in self.ops]}

    def write(self, path: str | os.PathLike[str], *, strict: bool = False) -> dict[str, Any]:
        """Checks the graph, writes it to `path` and returns the document. See `write`."""
        document = self.document()
        write(document, path, strict=strict)
        return document


def check(document: Mapping[str, Any]) -> list[str]:
    """Returns every broken rule of the format, one sentence each; an empty list means that the graph is valid."""
    if not isinstance(document, Mapping):
        return ["the file contains no JSON object"]
    errors: list[str] = []
    if document.get("format") != FORMAT:
        errors.append(f"format is {document.get('format')!r}, expected {FORMAT!r}")
    _check_version(document.get("version"), errors)
    for key, kind in (("name", str), ("tensors", list), ("ops", list)):
        if not isinstance(document.get(key), kind):
            errors.append(f"{key!r} is missing or not a {kind.__name__}")
    ranks = document.get("ranks", 1)
    if not _is_count(ranks) or not 1 <= ranks <= MAX_RANKS:
        errors.append(f"ranks is {ranks!r}, expected a whole number from 1 to {MAX_RANKS}")
    if errors:
        return errors
    tensors, ops = document["tensors"], document["ops"]
    _check_tensors(tensors, errors)
    producers = _check_ops(tensors, ops, errors)
    if errors:
        return errors  # the rules below index by id; the rules above make that safe
    errors.extend(role_errors(document))
    cycle = _find_cycle(len(ops), _predecessors(ops, producers))
    if cycle:
        errors.append("cycle: " + " -> ".join(ops[i]["name"] for i in cycle))
    return errors


def write(document: Mapping[str, Any], path: str | os.PathLike[str], *, strict: bool = False) -> None:
    """Checks a document and writes it to `path` (`.gz`: compressed), completely or not at all.

    The bytes depend on the document only: no time stamp, no file name, one record per line.
    strict: also refuses doubts (graph_doubts.py); otherwise each doubt is a GraphWarning.
    Throws GraphError if a rule is broken, OSError if the file cannot be written.
    """
    errors = check(document)
    found = [] if errors else doubts(document)
    if strict:
        errors += found
    if errors:
        raise GraphError("\n".join(f"{document.get('name')}: {error}"
                                   for error in errors[:MAX_REPORTED_ERRORS]))
    for doubt in found:
        warnings.warn(f"{document.get('name')}: {doubt}", GraphWarning, stacklevel=2)
    write_bytes(serialize(document), path)


def write_bytes(data: bytes, path: str | os.PathLike[str]) -> None:
    """Writes a file (`.gz`: compressed, without time stamp or name), completely or not at all.

    Throws OSError.
    """
    path = os.fspath(path)
    if path.endswith(".gz"):
        buffer = io.BytesIO()
        with gzip.GzipFile("", "wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
            file.write(data)
        data = buffer.getvalue()
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix="." + os.path.basename(path), dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def serialize(document: Mapping[str, Any]) -> bytes:
    """Returns the document as UTF-8 JSON with compact separators, one tensor or op per line."""
    def encode(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    parts = []
    for key, value in document.items():
        if key in ("tensors", "ops"):
            parts.append(encode(key) + ":[\n" + ",\n".join(map(encode, value)) + "\n]")
        else:
            parts.append(encode(key) + ":" + encode(value))
    return ("{" + ",\n".join(parts) + "}\n").encode()


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the document in a `.json` or `.json.gz` file, unchecked (see `check`).

    Dtypes have their names in FORMAT.md.
    """
    with open(path, "rb") as file:
        data = file.read()
    document: dict[str, Any] = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    tensors = document.get("tensors") if isinstance(document, dict) else None
    for tensor in tensors if isinstance(tensors, list) else ():
        if isinstance(tensor, dict) and isinstance(tensor.get("dtype"), str):
            tensor["dtype"] = dtype_name(tensor["dtype"]) or tensor["dtype"]
    return document


def bytes_accessed(document: Mapping[str, Any], op: Mapping[str, Any]) -> int:
    """Returns the bytes that an op moves [B]: its own figure; 0 for a source; else inputs plus outputs."""
    if op["kind"] in SOURCE_KINDS:
        return 0
    if op.get("bytes_accessed") is not None:
        return op["bytes_accessed"]
    return sum(document["tensors"][t]["bytes"] for t in [*op["inputs"], *op["outputs"]])


def statistics(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns figures by which a graph is recognised; `alias_of` tensors are not counted twice.

    parameters: elements of role `parameter`; *_flops [FLOP] and moved_bytes [B] of one step;
    *_bytes [B]: sum over the tensors of a role.
    """
    tensors, ops = document["tensors"], document["ops"]
    own = [t for t in tensors if t.get("alias_of") is None]
    by_role = collections.Counter()
    for t in own:
        by_role[t.get("role", "activation")] += t["bytes"]
    figures: dict[str, Any] = {"ops": len(ops), "tensors": len(tensors)}
    figures["parameters"] = sum(math.prod(t["shape"]) for t in own if t.get("role") == "parameter")
    for phase in PHASES:
        figures[phase + "_ops"] = sum(op.get("phase", "forward") == phase for op in ops)
        figures[phase + "_flops"] = sum(op.get("flops", 0) for op in ops
                                        if op.get("phase", "forward") == phase)
    figures["moved_bytes"] = sum(bytes_accessed(document, op) for op in ops)
    for role in ROLES:
        figures[role + "_bytes"] = by_role[role]
    largest = max(tensors, key=lambda t: t["bytes"], default={"name": "", "bytes": 0})
    figures["largest_tensor"] = largest.get("name", "")
    figures["largest_tensor_bytes"] = largest["bytes"]
    figures["colocation_groups"] = len({op["colocate"] for op in ops if op.get("colocate")})
    return figures


def summary(document: Mapping[str, Any]) -> str:
    """Returns a few lines of text for people: size, parameters, work and memory of the graph."""
    def amount(value: float) -> str:
        return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"

    f = statistics(document)
    phases = ", ".join(f"{phase} {f[phase + '_ops']:,} ops "
                       f"{amount(f[phase + '_flops'] / 1e9)} GFLOP" for phase in PHASES)
    roles = ", ".join(f"{role} {amount(f[role + '_bytes'] / 1e6)}" for role in ROLES)
    ranks = f"one of {document['ranks']} ranks, " if "ranks" in document else ""
    return (f"{document['name']}: {ranks}{f['ops']:,} ops, {f['tensors']:,} tensors, "
            f"{f['parameters']:,} parameters, {f['colocation_groups']:,} co-location groups\n"
            f"  {phases}\n"
            f"  MB by role: {roles}\n"
            f"  moved {amount(f['moved_bytes'] / 1e9)} GB a step; largest tensor "
            f"{f['largest_tensor']} ({amount(f['largest_tensor_bytes'] / 1e6)} MB)")


def _put(record: dict[str, Any], key: str, value: Any, default: Any) -> None:
    """Stores a value unless it is the default that readers assume."""
    if value != default:
        record[key] = value


def _unknown_dtype(dtype: Any) -> str:
    return f"unknown element type {dtype!r}; choices: {', '.join(DTYPE_BITS)}, or their names in frameworks"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: Any) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value) and value >= 0)


def _check_version(version: Any, errors: list[str]) -> None:
    """Applies the rule of framework/FORMATS.md, "Versions"; the texts are those of framework/base/version.h."""
    if not _is_amount(version) or version != int(version):
        errors.append(f"version: got {version!r}, expected a whole number")
    elif version > VERSION:
        errors.append(f"version: expected at most {VERSION}, got {int(version)}: made by a newer "
                      "version of emplace")
    elif version < 1:
        errors.append(f"version: expected {VERSION}, got {int(version)}")


def _check_tensors(tensors: Sequence[Mapping[str, Any]], errors: list[str]) -> None:
    for index, t in enumerate(tensors):
        where = f"tensor {index} {t.get('name', '')!r}"
        if t.get("id") != index:
            errors.append(f"{where}: id is {t.get('id')!r}, expected {index} (file order)")
        if not _is_count(t.get("bytes")):
            errors.append(f"{where}: bytes is {t.get('bytes')!r}, expected a whole number >= 0")
        if not all(map(_is_count, t.get("shape", []))):
            errors.append(f"{where}: shape is {t.get('shape')!r}, expected whole numbers >= 0")
        if not isinstance(t.get("dtype", ""), str) or dtype_name(t.get("dtype", "")) is None:
            errors.append(f"{where}: {_unknown_dtype(t['dtype'])}")
        if t.get("role", "activation") not in ROLES:
            errors.append(f"{where}: role is {t.get('role')!r}, expected one of {', '.join(ROLES)}")
        alias, steps = t.get("alias_of"), 0
        while alias is not None and steps <= len(tensors):
            if not _is_count(alias) or alias >= len(tensors):
                errors.append(f"{where}: alias_of is {alias!r}, but this tensor does not exist")
                break
            alias, steps = tensors[alias].get("alias_of"), steps + 1
        if steps > len(tensors):
            errors.append(f"{where}: alias_of forms a cycle")


def _check_ops(tensors: Sequence[Mapping[str, Any]], ops: Sequence[Mapping[str, Any]],
               errors: list[str]) -> list[int | None]:
    """Checks each op by itself. Returns the producer of every tensor (None: a graph input)."""
    producers: list[int | None] = [None] * len(tensors)
    names: dict[str, int] = {}
    for index, op in enumerate(ops):
        name = op.get("name")
        where = f"op {index} {name!r}"
        if op.get("id") != index:
            errors.append(f"{where}: id is {op.get('id')!r}, expected {index} (file order)")
        if not all(isinstance(text, str) and text for text in (name, op.get("kind"))):
            errors.append(f"{where}: name and kind must be non-empty text")
        elif names.setdefault(name, index) != index:
            errors.append(f"{where}: op {names[name]} has the same name")
        for key, limit in (("inputs", len(tensors)), ("outputs", len(tensors)),
                           ("control_inputs", len(ops))):
            for i in op.get(key, [] if key == "control_inputs" else [None]):
                if not _is_count(i) or i >= limit:
                    errors.append(f"{where}: {key} has {i!r}, expected an id below {limit}")
                elif key == "outputs":
                    if producers[i] is not None:
                        first = ops[producers[i]].get("name")
                        errors.append(f"{where}: tensor {i} {tensors[i].get('name')!r} is already "
                                      f"produced by op {producers[i]} {first!r}")
                    producers[i] = index
        for key in ("device_kinds", "devices"):
            asked = op.get(key)
            if asked is not None and not (isinstance(asked, list) and asked
                                          and all(isinstance(text, str) and text for text in asked)):
                errors.append(f"{where}: {key} is {asked!r}, expected a list of non-empty texts, or null for any")
        for key in ("flops", "bytes_accessed", "workspace_bytes"):
            if key in op and not _is_amount(op[key]):
                errors.append(f"{where}: {key} is {op[key]!r}, expected a finite number >= 0")
        for kind, cost in op.get("cost_ns", {}).items():
            if not _is_amount(cost):
                errors.append(f"{where}: cost_ns of {kind!r} is {cost!r}, expected a finite "
                              f"number >= 0")
        if op.get("phase", "forward") not in PHASES:
            errors.append(f"{where}: phase is {op.get('phase')!r}, expected one of "
                          f"{', '.join(PHASES)}")
    return producers


def _predecessors(ops: Sequence[Mapping[str, Any]],
                  producers: Sequence[int | None]) -> list[list[int]]:
    return [[p for p in (*(producers[t] for t in op["inputs"]), *op.get("control_inputs", []))
             if p is not None] for op in ops]


def _find_cycle(num_ops: int, predecessors: Sequence[Sequence[int]]) -> list[int]:
    """Returns the op ids along one cycle, its first op repeated at the end; empty if there is none."""
    waiting = [len(p) for p in predecessors]
    successors: list[list[int]] = [[] for _ in range(num_ops)]
    for op, before in enumerate(predecessors):
        for p in before:
            successors[p].append(op)
    ready = [op for op in range(num_ops) if waiting[op] == 0]
    while ready:
        for after in successors[ready.pop()]:
            waiting[after] -= 1
            if waiting[after] == 0:
                ready.append(after)
    stuck = [op for op in range(num_ops) if waiting[op]]
    if not stuck:
        return []
    path, seen, op = [], {}, stuck[0]  # a walk back along unfinished predecessors must return to an op
    while op not in seen:
        seen[op] = len(path)
        path.append(op)
        op = next(p for p in predecessors[op] if waiting[p])
    return [op] + path[seen[op]:][::-1]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check emplace-graph files and summarise their contents.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a .json or .json.gz graph")
    parser.add_argument("--strict", action="store_true", help="treat likely mistakes as errors")
    options = parser.parse_args(arguments)
    status = 0
    for path in options.files:
        try:
            document = read(path)
        except (OSError, EOFError, ValueError) as error:
            print(f"{path}: cannot be read: {error}", file=sys.stderr)
            status = 2
            continue
        errors = check(document)
        for error in errors[:MAX_REPORTED_ERRORS]:
            print(f"{path}: {error}", file=sys.stderr)
        found = [] if errors else doubts(document)
        for doubt in found:
            print(f"{path}: {'' if options.strict else 'warning: '}{doubt}", file=sys.stderr)
        if errors or found and options.strict:
            status = 2
        else:
            print(summary(document))
    return status


if __name__ == "__main__":
    sys.exit(main())
