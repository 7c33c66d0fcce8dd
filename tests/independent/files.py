"""The files of a problem, and its text for people.

Quantities get a random spelling; every spelling is exact, so it must not matter.
"""

import gzip
import json
from decimal import Decimal

TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
BYTE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
RATE_UNITS = {
    "B/s": 1,
    "kB/s": 10**3,
    "MB/s": 10**6,
    "GB/s": 10**9,
    "TB/s": 10**12,
    "KiB/s": 2**10,
    "MiB/s": 2**20,
    "GiB/s": 2**30,
    "B/us": 10**6,
    "B/ns": 10**9,
    "kB/ms": 10**6,
}


def spell(rng, value, units):
    """`value` in one of the units, if it stays short there; else in the first."""
    unit = rng.choice(list(units))
    number = Decimal(value) / units[unit]
    text = format(number.normalize(), "f")
    if number * units[unit] != Decimal(value) or len(text) > 16:
        return f"{value}{next(iter(units))}"
    return text + unit


def cluster_yaml(cluster, rng):
    """The text of the cluster file."""

    def quantity(key, value):
        if key in ("latency", "setup", "gap", "issue", "launch", "overhead"):
            return spell(rng, value, TIME_UNITS)
        if key == "memory":
            return spell(rng, value, BYTE_UNITS)
        if key in ("bandwidth", "cold_read"):
            return spell(rng, value, RATE_UNITS)
        if key in ("sensitivity", "pressure"):
            return value + rng.choice(["", "00"]) if "." in value else value
        return flow(value) if isinstance(value, dict) else json.dumps(value)

    def flow(item):
        return (
            "{" + ", ".join(f"{key}: {quantity(key, value)}" for key, value in item.items()) + "}"
        )

    lines = [f"name: {cluster['name']}", "device_kinds:"]
    lines += [f"  {name}: {flow(kind)}" for name, kind in cluster["device_kinds"].items()]
    for key in ("devices", "channels", "routes"):
        if cluster.get(key):
            lines.append(f"{key}:")
            lines += [f"  - {flow(item)}" for item in cluster[key]]
    lines += [
        f"{key}: {flow(cluster[key])}" for key in ("all_to_all", "egress_bus") if key in cluster
    ]
    if "shares" in cluster:
        lines.append(f"shares: {json.dumps(cluster['shares'])}")
    return "\n".join(lines) + "\n"


def describe(problem):
    """Small readable text of a problem."""
    cluster, graph = problem["cluster"], problem["graph"]

    def brief(item, skip=()):
        return ", ".join(f"{key} {value}" for key, value in item.items() if key not in skip)

    lines = [f"kind {name}: {brief(kind)}" for name, kind in cluster["device_kinds"].items()]
    lines += [f"device {d['name']}: {brief(d, ('name',))}" for d in cluster["devices"]]
    lines += [
        f"{key}: {brief(cluster[key])}" for key in ("all_to_all", "egress_bus") if key in cluster
    ]
    lines += [f"channel {c['name']}: {brief(c, ('name',))}" for c in cluster.get("channels", [])]
    lines += [f"route {r['from']} -> {r['to']} via {r['via']}" for r in cluster.get("routes", [])]
    lines += [f"shares {item}" for item in cluster.get("shares", [])]
    lines += [f"tensor {t['id']}: {brief(t, ('id',))}" for t in graph["tensors"]]
    for op in graph["ops"]:
        lines.append(
            f"op {op['id']} on {problem['placement']['devices'][op['name']]}: "
            f"{brief(op, ('id', 'name'))}"
        )
    for entry in problem.get("costs", {}).get("ops", []):
        skip = ("signature", "kind", "class", "flops", "bytes")
        lines.append(f"costs of {entry['signature']}: {brief(entry, skip)}")
    if "issue_order" in problem["placement"]:
        lines.append(f"issue order {', '.join(problem['placement']['issue_order'])}")
    if "priority" in problem:
        lines.append(f"priority {problem['priority']}")
    return "\n".join(lines)


def write(problem, folder, rng):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(problem["graph"]).encode()
    zipped = rng.random() < 0.3  # the program looks at the content or at the name; keep both right
    (folder / "graph.json").unlink(missing_ok=True)
    (folder / "graph.json.gz").unlink(missing_ok=True)
    graph = folder / ("graph.json.gz" if zipped else "graph.json")
    graph.write_bytes(gzip.compress(text, 1) if zipped else text)
    (folder / "cluster.yaml").write_text(cluster_yaml(problem["cluster"], rng))
    (folder / "placement.json").write_text(json.dumps(problem["placement"]))
    if "costs" in problem:
        (folder / "costs.json").write_text(json.dumps(problem["costs"]))
    else:
        (folder / "costs.json").unlink(missing_ok=True)
    return graph
