"""Small models for the tests of `emplace place`: graphs as the importer of PyTorch makes them, by hand."""

from __future__ import annotations

from typing import Any, Sequence

from emplace.importers.graph_file import GraphBuilder

SIZE = 256          # elements of an activation, f32: 1024 B
WEIGHT = (SIZE, SIZE)  # 262144 B


class Model:
    """Builds a graph op by op, each with the path of its module."""

    def __init__(self, name: str = "model") -> None:
        self.graph = GraphBuilder(name, {"framework": "torch 2.14.1"})

    def input(self, name: str = "x") -> int:
        return self.graph.tensor(name, [1, SIZE], "f32", role="input")

    def weight(self, module: str, name: str = "weight") -> int:
        path = f"{module}.{name}" if module else name
        return self.graph.parameter(path, list(WEIGHT), "f32", attributes={"module": module} if module else {})

    def op(self, module: str, kind: str, inputs: list[int], flops: float = 1e6, role: str = "activation",
           alias_of: int | None = None, **options: Any) -> int:
        name = f"{module}/{kind}" if module else kind
        taken = {op.name for op in self.graph.ops}
        unique = next(n for n in (name, *(f"{name}_{i}" for i in range(1, 99))) if n not in taken)
        output = self.graph.tensor(unique, [1, SIZE], "f32", role=role, alias_of=alias_of)
        attributes = {**({"module": module} if module else {}), **options.pop("attributes", {})}
        self.graph.op(unique, f"aten.{kind}", inputs, [output], flops=flops, attributes=attributes, **options)
        return output

    def linear(self, module: str, x: int, weight: int | None = None, **options: Any) -> int:
        return self.op(module, "mm", [x, self.weight(module) if weight is None else weight], **options)


def transformer(layers: int = 4, tied: bool = False, flops: float = 1e6) -> dict[str, Any]:
    """embed, layers.0 ... with a residual sum in each, norm, head; tied: the head reads embed's weight."""
    model = Model()
    x = model.input()
    embedding = model.weight("embed")
    y = model.linear("embed", x, embedding, flops=flops)
    for index in range(layers):
        path = f"layers.{index}"
        y = model.op(path, "add", [y, model.linear(f"{path}.up", y, flops=flops)], flops=0)
    y = model.linear("norm", y, flops=flops)
    model.linear("head", y, embedding if tied else None, role="output", flops=flops)
    return model.graph.document()


def wide() -> dict[str, Any]:
    """Two towers from one input, joined in the root's forward(); both have two children."""
    model = Model()
    x = model.input()
    ends = []
    for tower in ("left", "right"):
        y = x
        for part in ("a", "b"):
            y = model.linear(f"{tower}.{part}", y)
        ends.append(y)
    joined = model.op("", "add", ends)
    model.linear("head", joined, role="output")
    return model.graph.document()


def training(names: Sequence[str] = ("a", "b")) -> dict[str, Any]:
    """Linear layers one behind another; the backward pass reads the views of weights that the forward pass made, and
    an update that shares its `colocate` label with the weight writes it."""
    model = Model()
    y, views, weights = model.input(), [], []
    for name in names:
        weights.append(model.weight(name))
        views.append(model.op(name, "t", [weights[-1]], flops=0, alias_of=weights[-1]))
        y = model.op(name, "mm", [y, views[-1]])
    for name, view, weight in reversed(list(zip(names, views, weights))):
        y = model.op(name, "mm", [y, view], phase="backward", attributes={"forward_op": f"{name}/mm"})
        model.op(name, "sgd", [weight, y], phase="update", alias_of=weight, colocate=f"{name}.weight")
    document = model.graph.document()
    for op in document["ops"]:
        if op["kind"] == "parameter":
            op["colocate"] = op["name"]
    return document
