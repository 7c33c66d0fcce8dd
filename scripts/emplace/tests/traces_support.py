"""Small traces made by hand, for the tests of their importers."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from emplace.importers import command


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and standard error of `emplace import`, run in this process."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        try:
            status = command.main(list(arguments))
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, err.getvalue()


def tensor(storage: int, shape: list[int], number: int | None = None, item: int = 4) -> tuple[list, list, str]:
    """(value, shape, type) of an f32 tensor as an execution trace has it; `number`: of the tensor itself."""
    elements = 1
    for size in shape:
        elements *= size
    return [number or storage, storage, 0, elements, item, "cpu"], shape, "Tensor(float)"


def node(number: int, parent: int, name: str, inputs: list = (), outputs: list = (), schema: str = "", seq: int = -1,
         **more: Any) -> dict[str, Any]:
    """A node of an execution trace, schema 1.1.1-chakra.0.0.4; arguments as (value, shape, type)."""
    def group(arguments: list) -> dict[str, list]:
        full = [argument if isinstance(argument, tuple) else (argument, [], "Int") for argument in arguments]
        return {"values": [a[0] for a in full], "shapes": [a[1] for a in full], "types": [a[2] for a in full]}
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": group(inputs), "outputs": group(outputs),
            "attrs": [{"name": "rf_id", "type": "uint64", "value": number},
                      {"name": "seq_id", "type": "int64", "value": seq},
                      {"name": "op_schema", "type": "string", "value": schema}], **more}


MUL = "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
ADD = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"


def training_step() -> dict[str, Any]:
    """y = x w [4, 6] x [6, 3], its gradient, and w += state * gradient in place; w is 2, x is 1."""
    x, w, y = tensor(1, [4, 6]), tensor(2, [6, 3]), tensor(3, [4, 3])
    dy, xt, dw, state = tensor(4, [4, 3]), tensor(1, [6, 4], 9), tensor(5, [6, 3]), tensor(6, [6, 3])
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "now", "start_ts": 0, "finish_ts": 1, "nodes": [
        node(1, 1, "[pytorch|profiler|execution_trace|process]"),
        node(2, 1, "[pytorch|profiler|execution_trace|thread]"),
        node(4, 3, "aten::mm", [x, w], [y], seq=7),     # nodes stand in the order in which they ended
        node(3, 2, "aten::matmul", [x, w], [y], seq=7),
        node(5, 2, "aten::ones_like", [y], [dy]),
        node(8, 7, "aten::t", [x], [xt]),
        node(9, 7, "aten::mm", [xt, dy], [dw]),
        node(7, 6, "MmBackward0", [dy], [dw], seq=7),
        node(6, 2, "autograd::engine::evaluate_function: MmBackward0"),
        node(11, 10, "aten::mul_", [state, dw], [state], MUL),
        node(12, 10, "aten::add_", [w, state], [w], ADD),
        node(10, 2, "Optimizer.step#SGD.step")]}
