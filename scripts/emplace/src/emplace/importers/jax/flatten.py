"""A jaxpr as one flat list of nodes: calls inlined, scans unrolled on request, unneeded nodes left out."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Any, Mapping, Sequence

from emplace.importers import ImportFailure
from emplace.importers.jax.values import aval_of, value_of
from emplace.importers.jax.work import Equation, bytes_accessed, flops, is_view
from emplace.importers.work import Value

# Primitives that only call a jaxpr, and the parameter that holds it.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
          "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
          "remat2": "jaxpr", "remat": "jaxpr", "checkpoint": "jaxpr", "custom_lin": "jaxpr"}
_ONE_DEVICE = ("shard_map", "xla_pmap")
_WRAPPER = re.compile(r"^(\w+)\((.*)\)$")


@dataclasses.dataclass
class Node:
    """One execution of a primitive. inputs: values without literals; outputs: values. scope: modules that contain it.

    flops [FLOP], None without a formula; moved [B], None: inputs plus outputs. views: for each output the operand that
    it aliases, as an index into `inputs`; None for none.
    """

    primitive: str
    inputs: list[int]
    outputs: list[int]
    scope: str
    is_backward: bool
    flops: int | None
    moved: int | None
    parameters: Mapping[str, Any]
    views: list[int | None]
    note: str = ""


@dataclasses.dataclass
class Flat:
    """Nodes in an order in which they can run, and the values between them."""

    nodes: list[Node]
    values: list[Value]
    inputs: list[int]
    constants: list[int]
    outputs: list[int]
    dropped: collections.Counter[tuple[str, str]]


def flatten(closed: Any, unroll: int) -> Flat:
    """Flattens a ClosedJaxpr. unroll: scans of at most so many steps become as many copies of their body."""
    return _Flattener(unroll).run(closed)


class _Flattener:
    def __init__(self, unroll: int) -> None:
        self.unroll = unroll
        self.flat = Flat([], [], [], [], [], collections.Counter())
        self.known_constants: dict[int, int] = {}  # by id of the array
        self.kept: list[Any] = []                  # keeps those arrays alive, so that their ids are not reused

    def run(self, closed: Any) -> Flat:
        flat = self.flat
        flat.inputs = [self._value(value_of(var.aval)) for var in closed.jaxpr.invars]
        results = self._run(closed.jaxpr, self._constants(closed), flat.inputs, "", False)
        flat.outputs = [self._materialise(result) for result in results]
        self._drop_unneeded()
        return flat

    def _value(self, value: Value) -> int:
        self.flat.values.append(value)
        return len(self.flat.values) - 1

    def _constants(self, closed: Any) -> list[int]:
        ids = []
        for array in closed.consts:
            if id(array) not in self.known_constants:
                self.kept.append(array)
                self.known_constants[id(array)] = self._value(value_of(aval_of(array)))
                self.flat.constants.append(self.known_constants[id(array)])
            ids.append(self.known_constants[id(array)])
        return ids

    def _materialise(self, value: int | Value) -> int:
        """Makes a constant of a literal that is needed as a tensor."""
        if isinstance(value, int):
            return value
        self.flat.constants.append(self._value(value))
        return self.flat.constants[-1]

    def _run(self, jaxpr: Any, constants: Sequence[int | Value], arguments: Sequence[int | Value], stack: str,
             is_called: bool) -> list[int | Value]:
        """Adds the nodes of a jaxpr. A value is an id, or for a literal a `Value`."""
        from jax.extend.core import Literal

        env: dict[Any, int | Value] = {}
        env.update(zip(jaxpr.constvars, constants))
        env.update(zip(jaxpr.invars, arguments))

        def read(atom: Any) -> int | Value:
            return value_of(atom.aval) if isinstance(atom, Literal) else env[atom]

        for eqn in jaxpr.eqns:
            operands = [read(atom) for atom in eqn.invars]
            inner = "/".join(filter(None, (stack, str(eqn.source_info.name_stack))))
            env.update(zip(eqn.outvars, self._equation(eqn, operands, inner, is_called)))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, eqn: Any, operands: list[int | Value], stack: str, is_called: bool) -> list[int | Value]:
        name = eqn.primitive.name
        if name in _ONE_DEVICE:
            raise ImportFailure(f"the step calls {name}, which spreads it over devices; import the program of one "
                                "device, so that a placement can spread it")
        if name in _CALLS:
            inner = eqn.params[_CALLS[name]]
            jaxpr, constants = (inner.jaxpr, self._constants(inner)) if hasattr(inner, "consts") else (inner, [])
            called = eqn.params.get("name") if name in ("jit", "pjit") and is_called else None
            return self._run(jaxpr, constants, operands, "/".join(filter(None, (stack, called))), True)
        if name == "scan" and eqn.params["length"] <= self.unroll:
            return self._unrolled(eqn, operands, stack)
        return self._node(eqn, operands, stack)

    def _node(self, eqn: Any, operands: list[int | Value], stack: str) -> list[int | Value]:
        results = [value_of(var.aval) for var in eqn.outvars]
        everything = [self.flat.values[operand] if isinstance(operand, int) else operand for operand in operands]
        read = [self.flat.values[operand] for operand in operands if isinstance(operand, int)]
        equation = Equation(eqn.primitive.name, everything, results, eqn.params, read)
        work = equation_work(eqn, equation)
        return self._add(equation, operands, stack, work)

    def _add(self, equation: Equation, operands: Sequence[int | Value], stack: str, work: Work) -> list[int | Value]:
        places, inputs = [], []
        for operand in operands:
            places.append(len(inputs) if isinstance(operand, int) else None)
            if isinstance(operand, int):
                inputs.append(operand)
        is_alias = is_view(equation)
        scope, is_backward = scope_of(stack)
        outputs = [self._value(value) for value in equation.outputs]
        views = [places[i] if is_alias else None for i in range(len(outputs))]
        moved = work.moved if not is_alias or None not in views else None
        self.flat.nodes.append(Node(equation.kind, inputs, outputs, scope, is_backward, work.flops, moved,
                                    equation.attributes, views, work.note))
        return list(outputs)

    def _unrolled(self, eqn: Any, operands: list[int | Value], stack: str) -> list[int | Value]:
        """Unrolls a scan step by step.

        Each step takes its slices of the inputs; at the end the results of all steps are stacked.
        """
        params, body = eqn.params, eqn.params["jaxpr"]
        fixed, carried = params["num_consts"], params["num_carry"]
        constants, carry = operands[:fixed], operands[fixed:fixed + carried]
        scanned = [self._materialise(operand) for operand in operands[fixed + carried:]]
        rows: list[list[int]] = [[] for _ in eqn.outvars[carried:]]
        order = range(params["length"])
        for step in reversed(order) if params["reverse"] else order:
            inner = f"{stack}/step_{step}" if stack else f"step_{step}"
            slices = [self._slice(value, step, inner) for value in scanned]
            results = self._run(body.jaxpr, self._constants(body), [*constants, *carry, *slices], inner, True)
            carry = results[:carried]
            for row, result in zip(rows, results[carried:]):
                row.append(self._materialise(result))
        stacked = []
        for row, var in zip(rows, eqn.outvars[carried:]):
            values = [self.flat.values[value] for value in row]
            joined = Equation("concatenate", values, [value_of(var.aval)], {"dimension": 0})
            stacked += self._add(joined, row[::-1] if params["reverse"] else row, stack, Work(0, None))
        return [*carry, *stacked]

    def _slice(self, value: int, step: int, stack: str) -> int:
        whole = self.flat.values[value]
        shape = whole.shape[1:]
        part = Value(shape, whole.dtype, whole.num_bytes // whole.shape[0])
        equation = Equation("slice", [whole], [part], {"start_indices": (step,), "limit_indices": (step + 1,)})
        return self._add(equation, [value], stack, Work(0, 2 * part.num_bytes))[0]

    def _drop_unneeded(self) -> None:
        """Leaves out the nodes whose results are not used, as XLA does."""
        wanted = set(self.flat.outputs)
        kept = []
        for node in reversed(self.flat.nodes):
            if wanted.intersection(node.outputs):
                wanted.update(node.inputs)
                kept.append(node)
            elif not node.outputs:
                self.flat.dropped[node.primitive, "has no result; it only prints or calls back while the step "
                                                  "runs"] += 1
        self.flat.nodes = kept[::-1]
        self.flat.constants = [value for value in self.flat.constants if value in wanted]


@dataclasses.dataclass(frozen=True)
class Work:
    """flops [FLOP], None without a formula; moved [B], None: the default; note: explains the figures to people."""

    flops: int | None
    moved: int | None
    note: str = ""


def equation_work(eqn: Any, equation: Equation) -> Work:
    """Returns the work of one equation.

    The work of an equation that contains jaxprs is as exact as is possible without running it.
    """
    name = equation.kind
    if name == "scan":
        total, moved, rest = _jaxpr_work(eqn.params["jaxpr"].jaxpr)
        length = eqn.params["length"]
        return Work(length * total, length * moved, f"one op, with the work of all its steps{rest}")
    if name == "while":
        parts = [_jaxpr_work(eqn.params[key].jaxpr) for key in ("cond_jaxpr", "body_jaxpr")]
        return Work(sum(part[0] for part in parts), sum(part[1] for part in parts),
                    "one op, with the work of one round; the number of rounds is known at run time only"
                    + "".join(sorted({part[2] for part in parts})))
    if name == "cond":
        total, moved, rest = max((_jaxpr_work(branch.jaxpr) for branch in eqn.params["branches"]),
                                 key=lambda part: part[:2])
        return Work(total, moved, f"one op, with the work of its largest branch{rest}")
    return Work(flops(equation), bytes_accessed(equation))


def _jaxpr_work(jaxpr: Any) -> tuple[int, int, str]:
    """Returns (FLOP, bytes moved [B], description of the uncounted parts) of one run of a jaxpr."""
    from jax.extend.core import Literal

    total, moved, unknown = 0, 0, 0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _CALLS:
            inner = eqn.params[_CALLS[eqn.primitive.name]]
            inner_total, inner_moved, rest = _jaxpr_work(getattr(inner, "jaxpr", inner))
            total, moved, unknown = total + inner_total, moved + inner_moved, unknown + bool(rest)
            continue
        operands = [value_of(atom.aval) for atom in eqn.invars]
        read = [value for atom, value in zip(eqn.invars, operands) if not isinstance(atom, Literal)]
        results = [value_of(var.aval) for var in eqn.outvars]
        work = equation_work(eqn, Equation(eqn.primitive.name, operands, results, eqn.params, read))
        unknown += work.flops is None
        total += work.flops or 0
        moved += sum(v.num_bytes for v in (*read, *results)) if work.moved is None else work.moved
    return total, moved, f"; {unknown} inner ops have no FLOP formula" if unknown else ""


def scope_of(stack: str) -> tuple[str, bool]:
    """Returns the modules in a name stack, outermost first, and whether the stack is that of a backward pass.

    "transpose(jvp(MLP))/Dense_0" gives ("MLP/Dense_0", True).
    """
    parts: list[str] = []
    for part in _split(stack):
        while match := _WRAPPER.match(part):
            part = match[2]
        for inner in _split(part):
            if inner and (not parts or parts[-1] != inner):
                parts.append(inner)
    return "/".join(parts), "transpose(" in stack or "rematted_computation" in stack


def _split(stack: str) -> list[str]:
    """Splits at the slashes that are outside of parentheses."""
    parts, depth = [""], 0
    for char in stack:
        depth += (char == "(") - (char == ")")
        if char == "/" and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts

