#!/usr/bin/env python3
"""Writes tests/golden/learn_reference.json: what PyTorch computes where framework/learn must agree.

    python3 tests/golden/learn_reference.py   needs: pip install -r scripts/requirements-torch.txt

Each case has inputs, outputs, and the gradients of  sum(outputs * weights)  by the inputs, all of
them matrices. PyTorch computes in float64; numbers are printed with the fewest digits that give the
same float32. Review the diff.
"""

from __future__ import annotations

import json
import pathlib
import random
import struct
from typing import Any, Callable

import torch
from torch import Tensor, nn

OUTPUT = pathlib.Path(__file__).resolve().with_suffix(".json")
RNG = random.Random(7)


def matrix(rows: int, cols: int, scale: float = 1.0) -> Tensor:
    """Numbers of three decimals in [-scale, scale]."""
    values = [[round(RNG.uniform(-scale, scale), 3) for _ in range(cols)] for _ in range(rows)]
    return torch.tensor(values, dtype=torch.float64)


def rounded(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


def shortest(number: float) -> float:
    texts = (f"{rounded(number):.{digits}g}" for digits in range(1, 10))
    return next(float(text) for text in texts if rounded(float(text)) == rounded(number))


def listed(value: Tensor) -> list[list[float]]:
    return [[shortest(x) for x in row] for row in value.detach().tolist()]


def differentiate(
    function: Callable[..., dict[str, Tensor]], inputs: dict[str, Tensor]
) -> dict[str, Any]:
    """One case: `function` of the inputs by their names."""
    leaves = {name: value.clone().requires_grad_() for name, value in inputs.items()}
    outputs = function(**leaves)
    weights = {name: matrix(*value.shape) for name, value in outputs.items()}
    sum((outputs[name] * weights[name]).sum() for name in outputs).backward()
    return {
        "inputs": {name: listed(value) for name, value in inputs.items()},
        "outputs": {name: listed(value) for name, value in outputs.items()},
        "weights": {name: listed(value) for name, value in weights.items()},
        "gradients": {name: listed(leaf.grad) for name, leaf in leaves.items()},
    }


def lstm_inputs(rows: int) -> dict[str, Tensor]:
    width, hidden = 3, 4
    return {"x": matrix(rows, width), "weights": matrix(width, 4 * hidden),
            "recurrent": matrix(hidden, 4 * hidden), "bias": matrix(1, 4 * hidden)}


def lstm_cell(x, weights, recurrent, bias, hidden, cell):
    parameters = {"weight_ih": weights.T, "weight_hh": recurrent.T, "bias_ih": bias[0],
                  "bias_hh": torch.zeros_like(bias[0])}
    module = nn.LSTMCell(x.shape[1], hidden.shape[1], dtype=torch.float64)
    hidden, cell = torch.func.functional_call(module, parameters, (x, (hidden, cell)))
    return {"hidden": hidden, "cell": cell}


def lstm_sequence(x, weights, recurrent, bias, backward):
    """Hidden states in the order of x, and the cell after the last step."""
    parameters = {"weight_ih_l0": weights.T, "weight_hh_l0": recurrent.T, "bias_ih_l0": bias[0],
                  "bias_hh_l0": torch.zeros_like(bias[0])}
    module = nn.LSTM(x.shape[1], recurrent.shape[0], dtype=torch.float64)
    ordered = x.flip(0) if backward else x
    states, (_, cell) = torch.func.functional_call(module, parameters, (ordered,))
    return {"hidden": states.flip(0) if backward else states, "last_cell": cell}


def additive_attention(query, keys, v):
    scores = torch.tanh(query[:, None, :] + keys[None, :, :]) @ v[0]
    return {"attention": torch.softmax(scores, dim=1)}


def distribution(logits):
    """Log-probabilities, those of the columns 0, 1, .. (one a row), and the entropies."""
    categorical = torch.distributions.Categorical(logits=logits)
    columns = torch.arange(logits.shape[0]) % logits.shape[1]
    return {"log_probabilities": torch.log_softmax(logits, dim=1),
            "picked": categorical.log_prob(columns)[:, None],
            "entropy": categorical.entropy()[:, None]}


def optimize(make: Callable[[list[Tensor]], torch.optim.Optimizer], steps: int = 5,
             clip_norm: float = 0) -> dict[str, Any]:
    """The values of two parameters after each step, from given gradients."""
    start = [matrix(2, 3), matrix(1, 2)]
    parameters = [value.clone().requires_grad_() for value in start]
    optimizer = make(parameters)
    gradients, values = [], []
    for _ in range(steps):
        for parameter in parameters:
            parameter.grad = matrix(*parameter.shape, scale=2)
        gradients.append([listed(parameter.grad) for parameter in parameters])
        if clip_norm > 0:
            nn.utils.clip_grad_norm_(parameters, clip_norm)
        optimizer.step()
        values.append([listed(parameter) for parameter in parameters])
    return {"start": [listed(value) for value in start], "gradients": gradients, "values": values}


def dump(node: Any, indent: str = "") -> str:
    """JSON with one matrix a line."""
    inner = indent + " "
    if isinstance(node, dict):
        items = [f"{inner}{json.dumps(key)}: {dump(value, inner)}" for key, value in node.items()]
        return "{\n" + ",\n".join(items) + "\n" + indent + "}"
    return json.dumps(node)


def main() -> None:
    sequence = lstm_inputs(5)
    state = {"hidden": matrix(2, 4), "cell": matrix(2, 4, scale=2)}
    cases = {
        "lstm_cell": differentiate(lstm_cell, {**lstm_inputs(2), **state}),
        "lstm_forward": differentiate(lambda **i: lstm_sequence(**i, backward=False), sequence),
        "lstm_backward": differentiate(lambda **i: lstm_sequence(**i, backward=True), sequence),
        "additive_attention": differentiate(
            additive_attention,
            {"query": matrix(2, 3), "keys": matrix(4, 3), "v": matrix(1, 3, scale=2)}),
        "distribution": differentiate(distribution, {"logits": matrix(4, 3, scale=3)}),
    }
    optimizers = {
        "adam": optimize(lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3)),
        "rmsprop": optimize(lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.9, eps=1e-3)),
        "momentum": optimize(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.7)),
        "clipped": optimize(lambda p: torch.optim.SGD(p, lr=0.5), clip_norm=1.5),
    }
    version = torch.__version__.split("+")[0]
    everything = {"torch": version, "cases": cases, "optimizers": optimizers}
    OUTPUT.write_text(dump(everything) + "\n")


if __name__ == "__main__":
    main()
