#!/usr/bin/env python3
"""Compares `emplace simulate` with the independent reference, number by number, on random problems.

    differential.py --program PATH [--count N] [--seed S] [--without FEATURE,...] [--with ...]
    differential.py --program PATH --replay FOLDER    compares a kept mismatch once more

Every problem runs in every semantics of reference.py, with and without --count-gaps, and the
timelines are compared too. The first mismatch of each sort is made smaller (ops, edges, devices
dropped while it stays), printed, and its files are kept. Exit code 1 then.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import files
import problems
import reference
import smaller

MODES = [(semantics, gaps) for semantics in reference.SEMANTICS for gaps in (False, True)]


class Refused(Exception):
    """The program did not accept a problem; carries its message."""


def program_says(program, graph, semantics, count_gaps, priority):
    folder = graph.parent
    command = [
        program,
        "simulate",
        "--graph",
        str(graph),
        "--cluster",
        str(folder / "cluster.yaml"),
        "--placement",
        str(folder / "placement.json"),
        "--semantics",
        semantics,
    ]
    trace, costs = folder / "trace.json", folder / "costs.json"
    command += ["--costs", str(costs)] if costs.exists() else []
    command += ["--priority", priority] if priority else []
    command += ["--count-gaps"] if count_gaps else ["--trace", str(trace)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Refused(f"exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout), None if count_gaps else read_trace(trace)


def read_trace(path):
    """A Chrome trace file in the form of reference.simulate(): its "X" events, of process 1
    (devices) and process 2 (channels)."""
    events = json.loads(path.read_text())["traceEvents"]
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    result = {}
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], e["dur"])):
        name, details = rows[event["pid"], event["tid"]], event["args"]
        start, duration = round(event["ts"] * 1000), round(event["dur"] * 1000)
        if event["pid"] == 1:
            device, _, slot = name.partition(" slot ")
        if event["pid"] == 1 and event["cat"] == "transfer":
            result.setdefault(f"slots of {device}", []).append(
                (int(slot or 0), start, duration, details["bytes"], details["channel"])
            )
        elif event["pid"] == 1:
            result[f"op {details['id']}"] = (device, int(slot or 0), start, duration)
        else:
            result.setdefault(name, []).append(
                (
                    start,
                    duration,
                    details["arrival_ns"],
                    details["bytes"],
                    details["hop"],
                    details["to"],
                )
            )
    return {
        key: sorted(value) if isinstance(value, list) else value for key, value in result.items()
    }


def flatten(value, path=()):
    if not isinstance(value, dict):
        return {path: value}
    return {
        key: x for name, item in value.items() for key, x in flatten(item, path + (name,)).items()
    }


# Keys that the reference does not compute: the bounds one by one, which is the larger, and the settings.
BESIDES = ("bound_method", "critical_path_ns", "work_ns", "placement_bound_ns", "simulated")


def differences(expected, found):
    """[(path, expected, found)] of every field that differs; the number of fields compared."""
    of_placement, step_time = found.get("placement_bound_ns"), found.get("step_time_ns")
    found = {key: value for key, value in found.items() if key not in BESIDES}
    expected, found = flatten(expected), flatten(found)
    bound = ("bound_ns",)
    least, greatest = expected[bound]
    value = found.get(bound)
    if value is not None and least <= value <= greatest and value <= found[("step_time_ns",)]:
        expected[bound] = value
    paths = sorted(set(expected) | set(found))
    result = []
    if None not in (of_placement, value, step_time) and not value <= of_placement <= step_time:
        result.append((("placement_bound_ns",), f"{value} to {step_time}", of_placement))
    for path in paths:
        a, b = expected.get(path, "absent"), found.get(path, "absent")
        if type(a) is not type(b) or a != b:
            result.append((path, a, b))
    return result, len(paths)


def compare(program, problem, folder, seed, modes=MODES):
    """All differences: [(mode, path, expected, found)], and the number of comparisons."""
    graph = files.write(problem, folder, random.Random(seed))
    result, count = [], 0
    for semantics, gaps in modes:
        mode = semantics + (" count-gaps" if gaps else "")
        priority = problem.get("priority") if semantics != "queue" else None
        try:
            found, found_trace = program_says(program, graph, semantics, gaps, priority)
        except Refused as refusal:
            return [(mode, ("refused",), "accepted", str(refusal))], 1
        expected, trace = reference.simulate(
            problem["graph"],
            problem["cluster"],
            problem["placement"],
            semantics,
            gaps,
            priority,
            problem.get("costs"),
        )
        differing, fields = differences(expected, found)
        result += [(mode, *item) for item in differing]
        count += fields
        if found_trace is not None:
            result += [
                (mode, ("trace", key), trace.get(key), found_trace.get(key))
                for key in sorted(set(trace) | set(found_trace))
                if trace.get(key) != found_trace.get(key)
            ]
            count += len(trace)
    return result, count


def sort_of(difference):
    """What a mismatch is about: semantics and field, without names of devices and channels."""
    mode, path, _, found = difference
    if path == ("refused",):
        return ("refused", found.split("\n")[0][:30])
    return (mode.split()[0], path[0], "" if path[0] == "trace" else path[-1])


def report(program, problem, found, keep, title):
    """Prints the least problem that shows the same sort of mismatch; keeps its files."""
    sort, mode = sort_of(found), found[0]
    modes = [(mode.split()[0], "count-gaps" in mode)]

    def still(candidate):
        return any(sort_of(x) == sort for x in compare(program, candidate, keep, 0, modes)[0])

    small = smaller.minimise(problem, still)
    left, _ = compare(program, small, keep, 0)
    (keep / "problem.json").write_text(json.dumps(small, indent=1))
    print(f"\nMISMATCH {title}, files in {keep}")
    print(files.describe(small))
    for mode, path, expected, value in left[:12]:
        print(f"  {mode}: {' / '.join(path)}: reference {expected}, program {value}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=os.path.abspath, help="path of emplace")
    parser.add_argument("--count", type=int, default=200, help="problems")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--without", default="", help="features to leave out: " + ", ".join(problems.FEATURES)
    )
    parser.add_argument(
        "--with", dest="also", default="", help="features to add that are off by default"
    )
    parser.add_argument(
        "--keep", help="folder for the files of mismatches (default: a new temporary one)"
    )
    parser.add_argument("--replay", help="folder of a kept mismatch")
    parser.add_argument(
        "--most-sorts", type=int, default=5, help="stop after this many sorts of mismatch"
    )
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
        tasks = [
            problems.generate(random.Random(f"{arguments.seed}/{i}"), features)
            for i in range(arguments.count)
        ]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(
            pool.map(
                lambda task: compare(arguments.program, task[1], work / str(task[0]), task[0]),
                enumerate(tasks),
            )
        )
    sorts = {}
    for i, (found, _) in enumerate(results):
        for sort in {sort_of(difference): difference for difference in found}.items():
            sorts.setdefault(sort[0], (i, sort[1]))
    for number, (sort, (i, difference)) in enumerate(sorted(sorts.items(), key=str)):
        if number < arguments.most_sorts:
            title = f"{' '.join(sort)} (seed {arguments.seed}, problem {i})"
            report(arguments.program, tasks[i], difference, keep / str(number), title)
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
