#!/usr/bin/env python3
"""Compares the costs of ops that were not measured with those of a second model, which was written
from framework/cost/FORMAT.md alone: the fit of the op's kind or class, corrected by neighbours.

    fitted_costs.py --program PATH [--count N] [--seed S]

Each problem is a random cost file and a graph of ops without costs on one device; the costs are read
from the timeline of `emplace simulate`. Costs are compared to the nanosecond, give or take one where
the model's is within 1e-6 of a half or above 1e7 ns. Exit code 1 and the files' text at the first mismatch.
"""

import argparse
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from costs import listed

BYTES = {"f32": 4, "i64": 8}
CLASSES = {"aten.mm": "matmul", "aten.add": "elementwise", "aten.cat": "copy", "AddN": "elementwise"}


def tensor_text(tensor):
    return f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"


def signature(op, tensors):
    attributes = ", ".join(f"{key}={value}" for key, value in sorted(op["attributes"].items()))
    inputs, outputs = (
        listed(op[key], lambda t: tensor_text(tensors[t])) for key in ("inputs", "outputs")
    )
    return f"{op['kind']}({inputs}) -> {outputs or '()'} {{{attributes}}}"


def outer_parts(text):
    """What stands between the ", " that are in no bracket."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and text[i : i + 2] == ", ":
            parts.append(text[begin:i])
            begin = i + 2
    return parts + [text[begin:]] if text[begin:] else parts


def written_out(text):
    places, parts = [], []
    for part in outer_parts(text):
        part, count = re.fullmatch(r"(.*?)(?: x(\d+))?", part).groups()
        count = int(count or 1)
        if part.startswith("#"):
            part = places[int(part[1:])]
        places += [part] * count
        parts += [part] * count if count <= 8 else [f"{part} * {count}"]
    return ", ".join(parts)


NUMBER = re.compile(r"(?<![A-Za-z0-9_.])-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


def structure_and_numbers(text):
    head, inputs, outputs, rest = re.fullmatch(r"([^(]*\()(.*)\) -> (.*?)( \{.*)", text).groups()
    outputs = outputs if outputs == "()" else written_out(outputs)
    text = f"{head}{written_out(inputs)}) -> {outputs}{rest}"
    numbers = [float(number) for number in NUMBER.findall(text)]
    return NUMBER.sub("n", text), [math.copysign(math.log(1 + abs(x)), x) for x in numbers]


def covariance(u, v, length):
    work = math.hypot(
        math.log(1 + u["flops"]) - math.log(1 + v["flops"]),
        math.log(1 + u["bytes"]) - math.log(1 + v["bytes"]),
    )
    result = math.exp(-work / 3) / 2
    (one, xs), (other, ys) = (structure_and_numbers(op["signature"]) for op in (u, v))
    return result + math.exp(-math.dist(xs, ys) / length) / 2 if one == other else result


def solve(matrix, right):
    """Gauss with the largest pivot."""
    rows = [row + [value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    result = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum(rows[i][k] * result[k] for k in range(i + 1, len(rows)))
        result[i] = (rows[i][-1] - known) / rows[i][i]
    return result


def fitted(fit, op):
    terms = [0.0]
    for work, extra, rate in (
        ("flops", fit["flops_half"], fit["flops_per_second"]),
        ("bytes", fit["bytes_half"], fit["bytes_per_second"]),
        ("bytes", -fit.get("spill_bytes", 0), fit.get("spill_bytes_per_second", 0)),
    ):
        if op[work] > 0 and rate > 0:
            terms.append((op[work] + extra) / rate)
    return fit["overhead_ns"] + 1e9 * max(terms)


def timing(op):
    """[ns] or None"""
    if "in_situ" in op:
        return op["in_situ"].get("mean_ns", 0) or op["in_situ"]["median_ns"]
    found = op.get("isolated") or op.get("cold")
    return found and found["median_ns"]


def cost(table, op):
    """[ns], not rounded, of an op {kind, class, signature, flops, bytes}."""
    for known in table["ops"]:
        if known["signature"] == op["signature"] and timing(known) is not None:
            return timing(known)
    fits = {(fit["scope"], fit["name"]): fit for fit in table["fits"]}
    fit = fits.get(("op", op["kind"])) or fits[("class", op["class"])]
    length = fit.get("neighbour_length", 0)
    near = [
        known
        for known in table["ops"]
        if length > 0
        and known["kind"] == op["kind"]
        and not known.get("proxy")
        and known["class"] != "view"
        and (timing(known) or 0) > 0
        and fitted(fit, known) > 0
    ]
    missed = [math.log(timing(known) / fitted(fit, known)) for known in near]
    matrix = [
        [covariance(u, v, length) + (0.04 if u is v else 0) for v in near] for u in near
    ]
    weights = solve(matrix, missed)
    factor = sum(a * covariance(op, u, length) for a, u in zip(weights, near))
    factor = max(min(factor, max(missed + [0])), min(missed + [0]))
    return fitted(fit, op) * math.exp(factor)


def random_op(rng, tensors):
    """An op of the graph file with tensors of its own."""

    def add(dtype, shape):
        tensors.append(
            {
                "id": len(tensors),
                "shape": shape,
                "dtype": dtype,
                "bytes": BYTES[dtype] * math.prod(shape),
            }
        )
        return len(tensors) - 1

    kind = rng.choice(list(CLASSES))
    size = lambda: rng.choice([1, 3, 7, 8, 64, 100, 512])  # noqa: E731
    attributes = {}
    if kind == "aten.mm":
        m, n, k = size(), size(), size()
        inputs, shape = [add("f32", [m, k]), add("f32", [k, n])], [m, n]
    elif kind == "aten.add":
        shape = [size(), size()]
        inputs = [add("f32", shape), add(rng.choice(["f32", "i64"]), rng.choice([shape, []]))]
        attributes = {"alpha": rng.choice([1, -1, 0.5, 1e-05])}
    else:
        shape = [size()]
        inputs = [add("f32", shape) for _ in range(rng.choice([1, 2, 3, 8, 9, 12]))]
        attributes = {"dim": rng.choice([0, -1])} if kind == "aten.cat" else {}
    inputs += rng.choices(inputs, k=rng.choice([0, 0, 1, 2]))
    return {
        "kind": kind,
        "inputs": inputs,
        "outputs": [add("f32", shape)],
        "flops": rng.choice([0, rng.randrange(10**7)]),
        "bytes_accessed": rng.randrange(1, 10**6),
        "attributes": attributes,
    }


def random_timing(rng):
    median = rng.uniform(1e3, 1e6)
    found = {"median_ns": median, "low_ns": median / 2, "high_ns": 2 * median, "samples": 9}
    return found | rng.choice([{}, {"mean_ns": median * 1.1}])


def random_fit(rng, scope, name):
    fit = {"device_kind": "core", "scope": scope, "name": name}
    fit |= {"overhead_ns": rng.uniform(100, 1e4), "samples": 5, "error": 0.1, "error_p90": 0.2}
    fit |= {"flops_per_second": rng.choice([0, rng.uniform(1e9, 1e11)])}
    fit |= {"flops_half": rng.uniform(0, 1e5), "bytes_per_second": rng.uniform(1e9, 1e11)}
    fit |= {"bytes_half": rng.choice([0, rng.uniform(0, 1e5)])}
    if rng.random() < 0.5:
        fit |= {"spill_bytes": rng.uniform(0, 1e6), "spill_bytes_per_second": rng.uniform(1e9, 1e10)}
    if rng.random() < 0.8:
        fit |= {"neighbour_length": rng.choice([1.5, 3, 6, rng.uniform(0.1, 20)])}
    return fit


def random_problem(rng):
    """(graph file, cost file, [op as cost() takes it])"""
    tensors, ops, known, wanted = [], [], {}, []
    for _ in range(rng.randrange(5, 40)):
        op = random_op(rng, tensors)
        text = signature(op, tensors)
        described = {"kind": op["kind"], "class": CLASSES[op["kind"]], "signature": text}
        described |= {"flops": op["flops"], "bytes": op["bytes_accessed"]}
        if rng.random() < 0.6:  # a measured one, seldom in the graph as well
            timings = {key: random_timing(rng) for key in ("isolated", "cold", "in_situ")}
            kept = {key: value for key, value in timings.items() if rng.random() < 0.6}
            proxy = {"proxy": True} if rng.random() < 0.1 else {}
            known.setdefault(text, {"device_kind": "core"} | described | kept | proxy)
            if rng.random() < 0.8:
                continue
        name = f"op{len(ops)}"
        ops.append({"id": len(ops), "name": name} | op)
        wanted.append(described)
    graph = {"format": "emplace-graph", "version": 1, "name": "random", "tensors": tensors}
    fits = [random_fit(rng, "class", name) for name in sorted(set(CLASSES.values()))]
    fits += [random_fit(rng, "op", kind) for kind in CLASSES if rng.random() < 0.5]
    table = {"format": "emplace-costs", "version": 1, "machine": "random", "links": []}
    table |= {"device_kinds": [{"name": "core", "class": "cpu"}]}
    table |= {"fits": fits, "ops": rng.sample(list(known.values()), len(known))}
    return graph | {"ops": ops}, table, wanted


CLUSTER = """name: one
device_kinds:
  core: {class: cpu}
devices:
  - {name: "cpu:0", kind: core, memory: 1000GB}
"""


def program_costs(program, folder, graph, table):
    """[ns] of each op, from the timeline; 0 of an op that it does not show."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "graph.json").write_text(json.dumps(graph))
    (folder / "costs.json").write_text(json.dumps(table))
    devices = {op["name"]: "cpu:0" for op in graph["ops"]}
    placement = {"format": "emplace-placement", "version": 1, "graph": "random", "cluster": "one"}
    (folder / "placement.json").write_text(json.dumps(placement | {"devices": devices}))
    command = [program, "simulate"]
    for key in ("graph", "costs", "placement"):
        command += [f"--{key}", str(folder / f"{key}.json")]
    command += ["--cluster", str(folder / "cluster.yaml"), "--trace", str(folder / "trace.json")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
    costs = [0] * len(graph["ops"])
    for event in json.loads((folder / "trace.json").read_text())["traceEvents"]:
        if event["ph"] == "X" and event["pid"] == 1 and "id" in event["args"]:
            costs[event["args"]["id"]] = round(event["dur"] * 1000)
    return costs


def agrees(expected, found):
    nearly_half = abs(expected - math.floor(expected) - 0.5) < 1e-6
    give = 1 if nearly_half or expected > 1e7 else 0
    return abs(math.floor(expected + 0.5) - found) <= give


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="emplace")
    parser.add_argument("--count", type=int, default=50, help="problems")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    compared = corrected = 0
    for number in range(arguments.count):
        graph, table, wanted = random_problem(rng)
        if not graph["ops"]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = program_costs(arguments.program, pathlib.Path(folder), graph, table)
        plain = table | {"fits": [fit | {"neighbour_length": 0} for fit in table["fits"]]}
        for op, nanos in zip(wanted, found):
            expected = cost(table, op)
            compared += 1
            corrected += expected != cost(plain, op)
            if agrees(expected, nanos):
                continue
            print(json.dumps(table, indent=1), op["signature"], sep="\n")
            print(f"problem {number}: expected {expected} ns, the program says {nanos} ns")
            return 1
    print(f"{compared} costs agree, {corrected} of them corrected by neighbours")
    return 0 if corrected > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
