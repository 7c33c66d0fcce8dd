"""Captures with AOTAutograd: the joint graph of forward and backward, from which compilers start.

The graph is functional: an in-place op appears as its out-of-place form, and state that the step changes
(running statistics) is returned as an additional output. Ops with unread results are gone. Only the ops that
PyTorch always decomposes are decomposed. The graph is walked once under fake tensors, and each node is noted as
a call:

    node.target, args            the aten op; a getitem only names one output of its op
    meta["partitioner_tag"]      forward or backward
    meta["nn_module_stack"]      the modules that ran, recorded by `track_modules`
    meta["seq_nr"]               autograd's sequence number, which pairs backward with forward
    meta["desc"]                 describes an input or output of the graph

The graph lacks the recomputation of activation checkpointing (AOTAutograd does not see saved-tensor hooks) and
the dropout between the layers of an LSTM or GRU (PyTorch's decomposition of those drops it). Not supported:
arguments that share memory if one of them is written, and `torch.cond` and similar operators.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from typing import Any
from unittest import mock

import torch
import torch.fx.traceback as fx_traceback
from torch._functorch._aot_autograd import descriptors
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors

from . import ranks
from .notes import Origin, StepNotes
from .training import StepError, Training


def capture(training: Training, notes: StepNotes
            ) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor | None]]:
    """Notes forward and backward; returns the results and the gradient of each trained parameter."""
    if ranks.gathers(training.setup.module):
        raise StepError("fully_shard gathers parameters outside of the joint graph; add --capture eager")
    state = {**training.parameters, **training.buffers}
    arguments = [*state.values(), *training.inputs, *training.targets]
    with contextlib.ExitStack() as stack:
        module = _trace(stack, training, list(state), arguments)
    with torch.no_grad():
        return _Walk(module, notes, arguments, list(state), training.start).run()


def _trace(stack: contextlib.ExitStack, training: Training, names: list[str],
           arguments: list[torch.Tensor]) -> torch.fx.GraphModule:
    """Returns the joint graph of the results as functions of `arguments`: state `names`, inputs, targets."""
    class Forward(torch.nn.Module):  # has no parameters of its own; all parameters are arguments
        def forward(self, *flat: torch.Tensor) -> tuple[torch.Tensor, ...]:
            inputs = flat[len(names):len(names) + len(training.inputs)]
            targets = flat[len(names) + len(training.inputs):]
            return training.run(inputs, targets, dict(zip(names, flat)))

    def moved(running: list[str]) -> None:
        meta = fx_traceback.get_current_meta()
        meta["nn_module_stack"] = {path: (path, "") for path in running}

    stack.enter_context(fx_traceback.preserve_node_meta())
    stack.enter_context(training.track_modules(moved))
    # Elsewhere, tensors that are neither arguments nor real would be an error; here they are the
    # constants of a model made under fake tensors.
    stack.enter_context(mock.patch("torch._dynamo.utils.assert_no_fake_params_or_buffers"))
    return aot_export_joint_with_descriptors(
        stack, Forward(), tuple(arguments), decompositions={}).graph_module


class _Walk:
    """One pass over the joint graph that computes and notes every node."""

    def __init__(self, module: torch.fx.GraphModule, notes: StepNotes,
                 arguments: list[torch.Tensor], names: list[str], start: Origin) -> None:
        self._module, self._notes = module, notes
        self._arguments, self._names = arguments, names
        self._results: dict[torch.fx.Node, Any] = {}
        self._backward_nr: int | None = None  # sequence number of the last backward node
        self._start = start
        self._outputs = self._described_outputs()

    def run(self) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor | None]]:
        results = [node for node, desc in self._outputs
                   if isinstance(desc, descriptors.PlainAOTOutput) and node is not None]
        tangents = self._tangents()
        for node in self._module.graph.nodes:
            if node.op == "placeholder":
                desc = _whole(node.meta["desc"])
                if desc is not None and not isinstance(desc, descriptors.TangentAOTInput):
                    self._results[node] = ranks.local(self._arguments[_position(desc)])
            elif node.op == "get_attr":
                self._results[node] = operator.attrgetter(node.target)(self._module)
            elif node.op == "call_function":
                self._results[node] = self._call(node)
            for tangent in tangents.get(node, ()):
                self._results[tangent] = self._seed(self._results[node])
        return tuple(self._results[node] for node in results), self._finish()

    def _described_outputs(self) -> list[tuple[torch.fx.Node | None, Any]]:
        output = self._module.graph.output_node()
        described = [(node, _whole(desc)) for node, desc in zip(output.args[0], output.meta["desc"])]
        return [(node, desc) for node, desc in described if desc is not None]

    def _tangents(self) -> dict[torch.fx.Node, list[torch.fx.Node]]:
        """Returns the gradients with which backward begins, by result: of the loss, or of the module's results.

        Results that are views of one tensor have one gradient, that of this tensor. A parameter that is a result has
        none.
        """
        made_by = {desc: node for node, desc in self._outputs}
        found: dict[torch.fx.Node, list[torch.fx.Node]] = {}
        for node in self._module.graph.nodes:
            desc = _whole(node.meta.get("desc"))
            if node.op == "placeholder" and isinstance(desc, descriptors.TangentAOTInput):
                found.setdefault(made_by[desc.output], []).append(node)
        return found

    def _call(self, node: torch.fx.Node) -> Any:
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self._results.__getitem__)
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            raise StepError(f"{node.target} runs its own graph, which an emplace graph cannot contain; call the ops "
                            "themselves, or torch.where")
        result = node.target(*args, **kwargs)
        if isinstance(node.target, torch._ops.OpOverload):
            self._notes.add_call(node.target, args, kwargs, result, self._origin(node))
        return result

    def _origin(self, node: torch.fx.Node) -> Origin:
        sequence_nr = node.meta.get("seq_nr")
        if not node.meta.get("partitioner_tag", "is_forward").endswith("backward"):
            running = list(node.meta.get("nn_module_stack") or ())
            return Origin("forward", running[-1] if running else "",
                          "model" if running else "loss", sequence_nr)
        if node.meta.get("is_gradient_acc"):  # lies between two autograd nodes and has no number
            sequence_nr = self._backward_nr
        self._backward_nr = sequence_nr
        return dataclasses.replace(self._start, sequence_nr=sequence_nr)

    def _seed(self, result: torch.Tensor) -> torch.Tensor:
        """Notes the gradient with which backward begins: ones, which are an input of the graph."""
        func = torch.ops.aten.ones_like.default
        seed = func(result)
        self._notes.add_call(func, (result,), {}, seed, self._start)
        return seed

    def _finish(self) -> dict[str, torch.Tensor | None]:
        """Stores the changed state; returns the gradient of each argument that requires one."""
        gradients: dict[str, torch.Tensor | None] = {}
        for node, desc in self._outputs:
            result = None if node is None else self._results[node]
            if isinstance(desc, descriptors.InputMutationAOTOutput):
                position = _position(desc.mutated_input)
                owner = self._names[position] if position < len(self._names) else ""
                self._notes.store(ranks.local(self._arguments[position]), result, owner.rpartition(".")[0])
            elif isinstance(desc, descriptors.GradAOTOutput):
                position = _position(desc.grad_of)
                if position < len(self._names) and self._arguments[position].requires_grad:
                    gradients[self._names[position]] = result
        return gradients


def _whole(desc: Any) -> Any:
    """Returns the description of a DTensor for that of its local tensor, None for that of its mesh."""
    while isinstance(desc, (descriptors.SubclassGetAttrAOTInput, descriptors.SubclassGetAttrAOTOutput)):
        desc = desc.base if desc.attr in ranks.INNER.values() else None
    return desc


def _position(desc: Any) -> int:
    """Returns the position of the argument that a description refers to."""
    if not isinstance(desc, descriptors.PlainAOTInput):
        raise StepError("arguments that share memory, of which one is written, have no joint "
                        f"graph with one input each ({desc.expr()}); try --capture eager")
    return desc.idx
