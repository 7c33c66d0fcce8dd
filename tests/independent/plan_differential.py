#!/usr/bin/env python3
"""Compares `emplace plan` with the second model of plans (plans.py) on random training steps.

    plan_differential.py --program PATH [--count N] [--seed S] [--first I] [--keep FOLDER]

Of each problem the planned graph is compared op by op, then the issue order, and the step time, busy
times and peaks with those of the simulator in reference.py. A plan that the model refuses must be
refused. The files of the first mismatches are kept. Exit code 1 then.
"""

import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction

import plan_differences
import plan_orders
import plan_problems
import plan_ranks
import plans
import reference
from costs import Costs
from model import Machine, Step, allowed
from rounding import nearest

UNITS = {
    **dict.fromkeys(("latency", "setup", "gap", "issue", "launch", "overhead"), "ns"),
    **dict.fromkeys(("bandwidth", "memory_bandwidth"), "B/s"),
    "memory": "B",
}


def with_units(item):
    """The cluster as its file has it; JSON is YAML."""
    if isinstance(item, list):
        return [with_units(each) for each in item]
    if not isinstance(item, dict):
        return item
    return {
        key: f"{value}{UNITS[key]}" if key in UNITS else value if key == "efficiency" else with_units(value)
        for key, value in item.items()
    }


def has_network(cluster):
    return any(plan_ranks.is_network(cluster, device) for device in cluster["devices"])


def collective_time(op, tensors):
    """[ns] of a measured collective: the same for equal signatures."""
    tensor = tensors[op["inputs"][0]]
    return 10 + (tensor["shape"][0] if tensor["dtype"] else tensor["bytes"]) % 41


def cost_file(planned):
    """Times of the collectives on the network devices that the cluster has."""
    kinds = planned.cluster["device_kinds"]
    used = sorted({device["kind"] for device in planned.cluster["devices"]})
    entries = {}
    for op in planned.ops:
        if op.get("device_kinds") != ["network"]:
            continue
        ends = [planned.tensors[op[key][0]] for key in ("inputs", "outputs")]
        typed = bool(ends[0]["dtype"])
        texts = [
            f"{end['dtype']}[{','.join(map(str, end['shape']))}]" if typed else f"?[{end['bytes']}B]"
            for end in ends
        ]
        text = f"{op['kind']}({texts[0]}) -> {texts[1]} {{group_size={op['attributes']['group_size']}}}"
        text += "" if typed else f" 0 FLOP, {sum(end['bytes'] for end in ends)} B"
        time = collective_time(op, planned.tensors)
        timing = {"median_ns": time, "low_ns": time, "high_ns": time, "samples": 3}
        for kind in used:
            if kinds[kind]["class"] == "network":
                entry = {"device_kind": kind, "signature": text, "kind": op["kind"], "flops": 0}
                entry.update({"class": "unknown", "bytes": 1, "isolated": timing})
                entries[kind, text] = entry
    described = [{"name": kind, "class": kinds[kind]["class"]} for kind in used]
    head = {"format": "emplace-costs", "version": 2, "machine": "none", "links": []}
    return {**head, "device_kinds": described, "ops": list(entries.values())}


def with_costs(planned):
    """The planned graph with the costs of sums (roofline) and of measured collectives."""
    graph = json.loads(json.dumps(planned.graph()))
    kinds = planned.cluster["device_kinds"]
    for op in graph["ops"]:
        if op.get("device_kinds") == ["network"] and not op.get("cost_ns"):
            op["cost_ns"] = dict.fromkeys(kinds, collective_time(op, graph["tensors"]))
        if op["kind"] == "aten.alias":  # a view
            op["cost_ns"] = dict.fromkeys(kinds, 0)
        if op["kind"] != "aten.add":
            continue
        accessed = sum(graph["tensors"][t]["bytes"] for t in op["inputs"] + op["outputs"])
        op["cost_ns"] = {}
        for name, kind in kinds.items():
            if kind["class"] != "network":
                works = [(op["flops"], plan_problems.PEAK), (accessed, kind["memory_bandwidth"])]
                time = max(Fraction(work * 10**9, rate) for work, rate in works)
                op["cost_ns"][name] = nearest(kind["overhead"] + time)
    return graph


def mirrored(groups, first):
    """[replicas][ops of the step] devices, from those of the first replica."""
    result = []
    for group in groups:
        own = [d for d in groups[0] if d not in group]
        others = [d for d in group if d not in groups[0]]
        image = {**{d: d for d in groups[0] if d in group}, **dict(zip(own, others))}
        if any(d not in image for d in first):
            raise plans.Refused("no counterpart")
        result.append([image[d] for d in first])
    return result


def merged_order(planned, orders):
    """Each op at its place in the order of its replica, as far as dependencies allow."""
    key = {}
    for r, order in enumerate(orders):
        for i, v in enumerate(order):
            if planned.origins[v].replica in (r, -1 if r == 0 else r):
                key[v] = i
    return plans.topological_order(planned.ops, key=lambda v: (key[v], v))


class Expected:
    """The model's answer."""

    def __init__(self, problem):
        self.full, plan = problem["cluster"], problem["plan"]
        graph, cluster = plan_ranks.first_rank(problem["graph"], self.full)
        self.rank_zero, machine = graph, Machine(cluster)
        for op in graph["ops"]:
            if not any(allowed(op, device) for device in machine.devices):
                raise plans.Refused(f"{op['name']} may run nowhere")
        names = [device["name"] for device in machine.devices]
        first = [names.index(self.full["devices"][d]["name"]) for d in problem["devices"]]
        devices = mirrored(plans.device_groups(plan, machine), first)
        keys = list(zip(*devices))
        together = [keys.index(key) for key in keys]
        planned = plans.apply_plan(graph, cluster, plan, together)
        planned = plan_ranks.with_transfers(planned, graph)
        self.measured = planned.cluster is cluster or cluster is not self.full and has_network(cluster)
        machine = Machine(planned.cluster)
        names = [device["name"] for device in machine.devices]
        network = [d for d, device in enumerate(machine.devices) if device["class"] == "network"]
        place = [
            names.index(f"ranks:{origin.group}")
            if origin.group >= 0
            else network[0]
            if origin.role == "collective"
            else devices[origin.replica][origin.op]
            for origin in planned.origins
        ]
        for op, d in zip(planned.ops, place):
            if not allowed(op, machine.devices[d]):
                raise plans.Refused(f"{op['name']} may not run there")
        step, orders = [plans.whole(op) for op in graph["ops"]], []
        schedule, virtual = problem["schedule"], problem["virtual_stages"]
        stages = [plan_orders.stages_of(step, of_replica, virtual) for of_replica in devices]
        for stage_of_op, count in stages:
            orders.append(plan_orders.pipeline_order(planned, stage_of_op, count, schedule, virtual))
        self.order = orders[0]
        if any(each != stages[0] for each in stages):
            self.order = merged_order(planned, orders)
        if problem["semantics"] == "queue" or graph.get("ranks", 1) > 1:
            # A communicator for each device (that of a collective's first predecessor), and for
            # each of its groups of ranks.
            before = plans.predecessors(planned.ops)
            server = [None] * len(place) if problem["semantics"] == "stream" else list(place)
            for v, origin in enumerate(planned.origins):
                if origin.group >= 0:
                    server[v] = ("ranks", origin.group, place[v - 1])
                elif origin.role == "collective" and problem["semantics"] == "queue":
                    first = min(before[v])
                    server[v] = ("network", place[first - (planned.origins[first].group >= 0)])
            planned.ops = plan_orders.in_order(planned.ops, server, self.order)
        self.planned, self.graph, self.stages = planned, planned.graph(), stages[0][1]
        self.names = [op["name"] for op in self.graph["ops"]]
        self.placement = {
            "devices": {name: machine.devices[d]["name"] for name, d in zip(self.names, place)},
            "issue_order": [self.names[v] for v in self.order],
        }
        self.simulate(problem["semantics"], machine)

    def simulate(self, semantics, machine):
        graph = with_costs(self.planned)
        step = Step(graph, machine, self.placement, Costs(graph, None, False))
        line, peaks = reference.SEMANTICS[semantics](step, self.placement, None)
        self.outcome = {"stages": self.stages, "step_time_ns": line.latest}
        for d, device in enumerate(machine.devices):
            name = device["name"]
            self.outcome[f"{name} busy_ns"] = line.device_busy[d]
            self.outcome[f"{name} peak_bytes"] = peaks[d]
        one_host = any(device["issue"] or device["launch"] for device in machine.devices)
        if self.rank_zero.get("ranks", 1) > 1 and not self.measured and not one_host:
            self.simulate_all_ranks(semantics, graph, machine)

    def simulate_all_ranks(self, semantics, graph, machine):
        """Rank 0 stands for all ranks."""
        graph = {**graph, "ranks": self.rank_zero["ranks"]}
        slots = [device["slots"] for device in machine.devices if device["name"] == "network"]
        graph, cluster, placement = plan_ranks.all_ranks(graph, self.placement, self.full, (slots + [0])[0])
        every = Machine(cluster)
        line, peaks = reference.SEMANTICS[semantics](
            Step(graph, every, placement, Costs(graph, None, False)), placement, None
        )
        assert line.latest == self.outcome["step_time_ns"], (line.latest, self.outcome)
        for d, device in enumerate(every.devices):
            rank_zero = self.outcome.get(f"{device['name']} busy_ns")
            if device["class"] != "network" and rank_zero is not None:
                assert line.device_busy[d] == rank_zero
                assert peaks[d] == self.outcome[f"{device['name']} peak_bytes"]


def write_problem(problem, folder, expected):
    folder.mkdir(parents=True, exist_ok=True)
    cluster, plan = problem["cluster"], problem["plan"]
    names = [device["name"] for device in cluster["devices"]]
    blocks = f" in blocks of {problem['graph']['ranks']}" if "ranks" in problem["graph"] else ""
    placement = {"format": "emplace-placement", "version": 1, "graph": "step", "cluster": "random" + blocks}
    placement["devices"] = {
        op["name"]: names[d] for op, d in zip(problem["graph"]["ops"], problem["devices"])
    }
    texts = {
        "graph.json": problem["graph"],
        "cluster.yaml": with_units(cluster),
        "plan.yaml": {**plan, "bucket": f"{plan['bucket']}B"},
        "placement.json": placement,
        "problem.json": problem,
    }
    if expected is not None and expected.measured:
        texts["costs.json"] = cost_file(expected.planned)
    for name, value in texts.items():
        (folder / name).write_text(json.dumps(value))


def run_plan(program, problem, folder):
    """(exit code, JSON or message)"""
    command = [program, "plan", str(folder / "graph.json"), "--json"]
    for option, name in (("cluster", "cluster.yaml"), ("plan", "plan.yaml"), ("write", "out")):
        command += [f"--{option}", str(folder / name)]
    command += ["--placement", str(folder / "placement.json")]
    for option in ("semantics", "schedule", "virtual_stages"):
        command += [f"--{option.replace('_', '-')}", str(problem[option])]
    if (folder / "costs.json").exists():
        command += ["--costs", str(folder / "costs.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


def run_simulate(program, problem, folder):
    """Step time [ns] of the files that the plan wrote."""
    out = folder / "out"
    command = [program, "simulate", "--semantics", problem["semantics"]]
    for option, name in (("graph", "graph.json.gz"), ("cluster", "cluster.yaml")):
        command += [f"--{option}", str(out / name)]
    command += ["--placement", str(out / "placement.json.gz")]
    if (folder / "costs.json").exists():
        command += ["--costs", str(folder / "costs.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["step_time_ns"]


def read_json(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def compare(program, problem, folder):
    """(what was compared, [text] of what differs)"""
    try:
        expected, refusal = Expected(problem), None
    except plans.Refused as error:
        expected, refusal = None, error
    write_problem(problem, folder, expected)
    code, said = run_plan(program, problem, folder)
    if expected is None:
        if code == 2:
            return "refused", []
        return "refused", [f"the model refuses ({refusal}), the program ends with {code}: {said}"]
    if code != 0:
        return "planned", [f"the program ends with {code}: {said}"]
    result = plan_differences.differences(expected.graph, read_json(folder / "out/graph.json.gz"))
    placement = read_json(folder / "out/placement.json.gz")
    for key in ("devices", "issue_order"):
        wanted = expected.placement[key]
        if key == "issue_order" and problem["semantics"] == "queue":
            wanted = None
        if placement.get(key) != wanted:
            result.append(f"{key}: {wanted}, program {placement.get(key)}")
    found = {"stages": said["stages"], "step_time_ns": said["step_time_ns"]}
    for name, device in said["devices"].items():
        found.update({f"{name} {key}": device[key] for key in ("busy_ns", "peak_bytes")})
    for key in sorted(set(found) | set(expected.outcome)):
        if expected.outcome.get(key) != found.get(key):
            result.append(f"{key}: {expected.outcome.get(key)}, program {found.get(key)}")
    if not result and problem["number"] % 4 == 0:
        time = run_simulate(program, problem, folder)
        if time != found["step_time_ns"]:
            result.append(f"emplace simulate: {time} ns, emplace plan: {found['step_time_ns']} ns")
    return "planned", result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=os.path.abspath, help="path of emplace")
    parser.add_argument("--count", type=int, default=200, help="problems")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--keep", help="folder for the files of mismatches (default: a temporary one)")
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="emplace_plans_"))
    keep = pathlib.Path(arguments.keep) if arguments.keep else work / "kept"

    def one(number):
        problem = plan_problems.generate(random.Random(f"{arguments.seed}/{number}"))
        problem["number"] = number
        folder = work / str(number)
        sort, found = compare(arguments.program, problem, folder)
        if found:
            shutil.copytree(folder, keep / str(number), dirs_exist_ok=True)
        shutil.rmtree(folder)
        return number, sort, found

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        numbers = range(arguments.first, arguments.first + arguments.count)
        results = list(pool.map(one, numbers))
    failed = [(number, found) for number, _, found in results if found]
    for number, found in failed[:5]:
        print(f"MISMATCH seed {arguments.seed}, problem {number}, files in {keep / str(number)}")
        for text in found[:6]:
            print(f"  {text[:2000]}")
    planned = sum(sort == "planned" for _, sort, _ in results)
    print(f"{planned} plans compared, {len(results) - planned} refused, {len(failed)} mismatches")
    if not failed:
        shutil.rmtree(work)
    return 1 if failed or planned < arguments.count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
