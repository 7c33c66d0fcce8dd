#!/usr/bin/env python3
"""Compares `emplace simulate` with the independent reference, number by number, on random problems.

    differential.py --program PATH [--count N] [--seed S] [--without FEATURE,...] [--with FEATURE,...]
    differential.py --program PATH --replay FOLDER       compares the files of a kept mismatch once more

Every problem runs in queue and stream semantics, with and without --count-gaps. The first mismatch of each sort
is made smaller (ops, edges, devices dropped while it stays), printed, and its files are kept. Exit code 1 then.
"""
import argparse
import concurrent.futures
import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import problems
import reference

MODES = [(semantics, gaps) for semantics in ("queue", "stream") for gaps in (False, True)]


class Refused(Exception):
    """The program did not accept a problem; carries its message."""


def write(problem, folder, rng):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.json").write_text(json.dumps(problem["graph"]))
    (folder / "cluster.yaml").write_text(problems.cluster_yaml(problem["cluster"], rng))
    (folder / "placement.json").write_text(json.dumps(problem["placement"]))


def program_says(program, folder, semantics, count_gaps):
    command = [program, "simulate", "--graph", str(folder / "graph.json"), "--cluster", str(folder / "cluster.yaml"),
               "--placement", str(folder / "placement.json"), "--semantics", semantics]
    done = subprocess.run(command + ["--count-gaps"] * count_gaps, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Refused(f"exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def flatten(value, path=()):
    if not isinstance(value, dict):
        return {path: value}
    return {key: x for name, item in value.items() for key, x in flatten(item, path + (name,)).items()}


def differences(expected, found):
    """[(path, expected, found)] of every field that differs; the number of fields compared."""
    expected, found = flatten(expected), flatten(found)
    bound = ("bound_ns",)
    least, greatest = expected[bound]
    value = found.get(bound)
    if value is not None and least <= value <= greatest and value <= found[("step_time_ns",)]:
        expected[bound] = value
    paths = sorted(set(expected) | set(found))
    result = []
    for path in paths:
        a, b = expected.get(path, "absent"), found.get(path, "absent")
        if type(a) is not type(b) or a != b:
            result.append((path, a, b))
    return result, len(paths)


def compare(program, problem, folder, seed, modes=MODES):
    """All differences: [(mode, path, expected, found)], and the number of comparisons."""
    write(problem, folder, random.Random(seed))
    result, count = [], 0
    for semantics, gaps in modes:
        mode = semantics + (" count-gaps" if gaps else "")
        try:
            found = program_says(program, folder, semantics, gaps)
        except Refused as refusal:
            return [(mode, ("refused",), "accepted", str(refusal))], 1
        expected = reference.simulate(problem["graph"], problem["cluster"], problem["placement"], semantics, gaps)
        differing, fields = differences(expected, found)
        result += [(mode, *item) for item in differing]
        count += fields
    return result, count


def sort_of(difference):
    """What a mismatch is about: semantics and field, without names of devices and channels."""
    mode, path, _, found = difference
    if path == ("refused",):
        return ("refused", found.split("\n")[0][:30])
    return (mode.split()[0], path[0], path[-1])


# Making a problem smaller. Each candidate is a changed copy; an invalid one is refused and so not taken.

def _drop_op(problem, v):
    small = copy.deepcopy(problem)
    graph = small["graph"]
    gone = graph["ops"].pop(v)
    del small["placement"]["devices"][gone["name"]]
    dead = set(gone["outputs"])
    tensor_id, kept = {}, []
    for t in graph["tensors"]:
        if t["id"] not in dead:
            tensor_id[t["id"]] = len(kept)
            kept.append(t)
    for t in kept:
        t["id"] = tensor_id[t["id"]]
        if "alias_of" in t:
            t["alias_of"] = tensor_id.get(t["alias_of"])
            if t["alias_of"] is None:
                del t["alias_of"]
    graph["tensors"] = kept
    for i, op in enumerate(graph["ops"]):
        op["id"] = i
        op["inputs"] = [tensor_id[t] for t in op["inputs"] if t in tensor_id]
        op["outputs"] = [tensor_id[t] for t in op["outputs"]]
        if "control_inputs" in op:
            op["control_inputs"] = [u - (u > v) for u in op["control_inputs"] if u != v]
    return small


def _drop_tensor(problem, t):
    small = copy.deepcopy(problem)
    graph = small["graph"]
    del graph["tensors"][t]
    for tensor in graph["tensors"]:
        tensor["id"] -= tensor["id"] > t
        if tensor.get("alias_of") == t:
            del tensor["alias_of"]
        elif "alias_of" in tensor:
            tensor["alias_of"] -= tensor["alias_of"] > t
    for op in graph["ops"]:
        for key in ("inputs", "outputs"):
            op[key] = [x - (x > t) for x in op[key] if x != t]
    return small


def _drop_device(problem, d):
    small = copy.deepcopy(problem)
    name = small["cluster"]["devices"].pop(d)["name"]
    if "routes" in small["cluster"]:
        small["cluster"]["routes"] = [r for r in small["cluster"]["routes"] if name not in (r["from"], r["to"])]
    return small


def _change(problem, *path, value=None):
    """A copy with the value at `path` replaced, or removed where `value` is None."""
    small = copy.deepcopy(problem)
    item = small
    for key in path[:-1]:
        item = item[key]
    if value is None:
        del item[path[-1]]
    else:
        item[path[-1]] = value
    return small


def candidates(problem):
    graph, cluster = problem["graph"], problem["cluster"]
    for v in reversed(range(len(graph["ops"]))):
        yield lambda v=v: _drop_op(problem, v)
    for t in reversed(range(len(graph["tensors"]))):
        yield lambda t=t: _drop_tensor(problem, t)
    for d in reversed(range(len(cluster["devices"]))):
        yield lambda d=d: _drop_device(problem, d)
    places = [("graph", "ops", v, key, i) for v, op in enumerate(graph["ops"])
              for key in ("inputs", "control_inputs") for i in range(len(op.get(key, [])))]
    optional = ("role", "alias_of", "workspace_bytes", "device_kinds", "colocate", "control_inputs", "gap", "issue",
                "launch", "slots", "broadcast", "overhead", "pays_transfers")
    for room in (("graph", "ops"), ("graph", "tensors"), ("cluster", "devices"), ("cluster", "channels")):
        for i, item in enumerate(problem[room[0]].get(room[1], [])):
            places += [(*room, i, key) for key in item if key in optional]
    places += [("cluster", "device_kinds", name, key) for name, kind in cluster["device_kinds"].items()
               for key in kind if key in optional]
    places += [("cluster", name, key) for name in ("all_to_all", "egress_bus") for key in cluster.get(name, {})
               if key in optional]
    places += [("cluster", key, i) for key in ("routes", "channels") for i in range(len(cluster.get(key, [])))]
    places += [("cluster", "device_kinds", name) for name in cluster["device_kinds"]]
    places += [("graph", "ops", v, "cost_ns", k) for v, op in enumerate(graph["ops"]) for k in op["cost_ns"]
               if k not in cluster["device_kinds"]]
    for path in places:
        yield lambda path=path: _change(problem, *path)
    numbers = [("graph", "ops", v, "cost_ns", k) for v, op in enumerate(graph["ops"]) for k in op["cost_ns"]]
    numbers += [("graph", "tensors", t, "bytes") for t in range(len(graph["tensors"]))]
    numbers += [("cluster", "channels", k, "latency") for k in range(len(cluster.get("channels", [])))]
    numbers += [("cluster", name, "latency") for name in ("all_to_all", "egress_bus") if name in cluster]
    for path in numbers:
        item = problem
        for key in path:
            item = item[key]
        for value in (0, 1, 10):
            if float(item) > value:
                yield lambda path=path, value=value: _change(problem, *path, value=value)


def minimise(program, problem, sort, mode, folder, most_tries=3000):
    modes = [(mode.split()[0], "count-gaps" in mode)]
    tries, shrunk = 0, True
    while shrunk and tries < most_tries:
        shrunk = False
        for candidate in candidates(problem):
            tries += 1
            try:
                small = candidate()
                found, _ = compare(program, small, folder, 0, modes)
            except (KeyError, ValueError, IndexError):
                continue  # not a problem any more
            if any(sort_of(difference) == sort for difference in found):
                problem, shrunk = small, True
                break
    return problem


def report(program, problem, found, keep, title):
    """Prints the least problem that shows the same sort of mismatch; keeps its files."""
    small = minimise(program, problem, sort_of(found[0]), found[0][0], keep)
    left, _ = compare(program, small, keep, 0)
    (keep / "problem.json").write_text(json.dumps(small, indent=1))
    print(f"\nMISMATCH {title}, files in {keep}")
    print(problems.describe(small))
    for mode, path, expected, value in left[:12]:
        print(f"  {mode}: {' / '.join(path)}: reference {expected}, program {value}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=os.path.abspath, help="path of emplace")
    parser.add_argument("--count", type=int, default=200, help="problems")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", default="", help="features to leave out: " + ", ".join(problems.FEATURES))
    parser.add_argument("--with", dest="also", default="", help="features to add that are off by default")
    parser.add_argument("--keep", help="folder for the files of mismatches (default: a new temporary one)")
    parser.add_argument("--replay", help="folder of a kept mismatch")
    parser.add_argument("--most-sorts", type=int, default=5, help="stop after this many sorts of mismatch")
    arguments = parser.parse_args()
    named = [set(filter(None, text.split(","))) for text in (arguments.without, arguments.also)]
    for name in named[0] | named[1]:
        if name not in problems.FEATURES:
            parser.error(f"no feature '{name}'; there are {', '.join(problems.FEATURES)}")
    features = set(problems.FEATURES) - problems.OFF_BY_DEFAULT - named[0] | named[1]
    work = pathlib.Path(tempfile.mkdtemp(prefix="emplace_differential_"))
    keep = pathlib.Path(arguments.keep) if arguments.keep else work / "kept"
    if arguments.replay:
        tasks = [json.loads((pathlib.Path(arguments.replay) / "problem.json").read_text())]
    else:
        # One generator per problem: problem i of a seed is the same whatever the count.
        tasks = [problems.generate(random.Random(f"{arguments.seed}/{i}"), features) for i in range(arguments.count)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(
            lambda task: compare(arguments.program, task[1], work / str(task[0]), task[0]), enumerate(tasks)))
    sorts = {}
    for i, (found, _) in enumerate(results):
        for sort in {sort_of(difference): difference for difference in found}.items():
            sorts.setdefault(sort[0], (i, sort[1]))
    for number, (sort, (i, difference)) in enumerate(sorted(sorts.items(), key=str)):
        if number < arguments.most_sorts:
            title = f"{' '.join(sort)} (seed {arguments.seed}, problem {i})"
            report(arguments.program, tasks[i], [difference], keep / str(number), title)
    failed = sum(1 for found, _ in results if found)
    compared = sum(count for _, count in results)
    if not failed:
        shutil.rmtree(work)
    else:
        for i in range(len(tasks)):
            shutil.rmtree(work / str(i), ignore_errors=True)
    print(f"{len(tasks)} problems, {compared} numbers compared, {failed} problems with mismatches")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
