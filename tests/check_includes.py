#!/usr/bin/env python3
"""Holds the sources to the house's arrows: who may include whom.

    check_includes.py ROOT         exit code 1 and one line per offender (file:line: what)
    check_includes.py --self-test  checks the checker on invented sources
"""
import pathlib
import re
import sys
import tempfile

# What each folder may include besides itself; the first prefix that matches a file counts.
BASE = ["framework/base/"]
CONFIG = BASE + ["framework/config/"]
GRAPH = CONFIG + ["framework/graph/"]
CLUSTER = CONFIG + ["framework/cluster/"]
COST = GRAPH + ["framework/cluster/", "framework/cost/"]
PLACEMENT = GRAPH + ["framework/cluster/", "framework/placement/"]
SCHEDULE = PLACEMENT + ["framework/cost/", "framework/schedule/"]
EXECUTOR = ["framework/", "profilers/statistics/", "profilers/kernels/", "profilers/executor/"]
ALLOWED = [
    ("framework/base/", BASE),
    ("framework/config/", CONFIG),
    ("framework/results/", BASE + ["framework/results/"]),
    ("framework/graph/", GRAPH),
    ("framework/cluster/", CLUSTER),
    ("framework/cost/", COST),
    ("framework/placement/", PLACEMENT),
    ("framework/schedule/", SCHEDULE),
    ("framework/learn/", CONFIG + ["framework/learn/"]),
    ("framework/bounds/", SCHEDULE + ["framework/bounds/", "framework/search/"]),
    ("framework/ranks/", BASE + ["framework/ranks/"]),
    ("framework/search/", SCHEDULE + ["framework/search/", "framework/learn/", "framework/ranks/"]),
    ("framework/", ["framework/"]),
    ("simulator/", ["framework/", "simulator/"]),
    ("agents/common/", ["framework/", "agents/common/"]),
    ("agents/policy_gradient/", ["framework/", "agents/common/", "agents/policy_gradient/",
                                 "agents/starts/"]),
    ("agents/", ["framework/", "agents/"]),
    ("profilers/statistics/", ["framework/", "profilers/statistics/"]),
    ("profilers/kernels/", ["framework/", "profilers/kernels/"]),
    ("profilers/executor/", EXECUTOR),
    ("profilers/measure/", EXECUTOR + ["profilers/measure/"]),
    ("profilers/cpu/", EXECUTOR + ["profilers/cpu/"]),
    ("profilers/cuda/", EXECUTOR + ["profilers/cpu/", "profilers/cuda/",
                                   "profilers/device_query.h", "profilers/device_spec.h",
                                   "profilers/gpu_module.h", "profilers/source_stamp.h"]),
    ("profilers/", ["framework/", "profilers/"]),
    ("experiments/", ["framework/", "simulator/", "agents/", "profilers/", "experiments/"]),
    ("tests/", [""]),
]
# The folders of experiments/: which of the others each may include. Files that lie in experiments/ itself are
# for all of them and include none.
EXPERIMENTS = {
    "run": [],
    "machine": ["run", "sweep"],
    "export": ["run"],
    "simulate": ["run"],
    "generalize": ["run"],
    "stress": ["run"],
    "table": ["run", "stress"],
    "sweep": ["run", "table"],
    "report": ["run", "stress", "table"],
    "certify": ["run", "sweep", "table"],
    "robustness": ["run", "stress", "sweep", "table"],  # emplace stress
}
ROOMS = ["framework", "simulator", "agents", "profilers", "experiments", "tests"]
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}

# Slow to compile, or none of a reader's business: only in sources.
HEAVY = re.compile(
    r"^(yaml-cpp/|nlohmann/(?!json_fwd\.hpp)|hdf5|H5|muParser|zlib\.h|metis\.h|scotch\.h|cuda|"
    r"boost/graph/|fmt/(chrono|ranges|std)\.h)")
# Known to nobody but themselves.
HEAVY_ALLOWED = ("tests/", "profilers/cuda/", "framework/results/hdf5_library.h",
                 "framework/graph/graph_concepts.h")

# Slow to compile, and known to one source behind an interface of ours.
ONE_SOURCE = {"CLI/": "experiments/command_line.cc"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def allowed_for(path):
    return next(allowed for prefix, allowed in ALLOWED if path.startswith(prefix))


def experiment(path):
    """The folder below experiments/ of a file there; "" for files that lie in none."""
    parts = path.split("/")
    return parts[1] if parts[0] == "experiments" and len(parts) > 2 else ""


def first_line_of_code(lines):
    return next((line.strip() for line in lines if line.strip() and not line.startswith("//")), "")


def check_file(root, path):
    """Offences of one file as (line number, text)."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    header = path.endswith((".h", ".cuh"))
    if header and first_line_of_code(lines) != "#pragma once":
        yield 1, "a header begins with #pragma once"
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        if quote == "<":
            if name.split("/")[0] in ROOMS:
                yield number, f"our own <{name}> is included with quotes"
            if header and HEAVY.match(name) and not path.startswith(HEAVY_ALLOWED):
                yield number, f"<{name}> is heavy and belongs in a source file"
            for prefix, only in ONE_SOURCE.items():
                if name.startswith(prefix) and path != only:
                    yield number, f"<{name}> is for {only} alone"
        elif name.split("/")[0] not in ROOMS or not (root / name).is_file():
            yield number, f'"{name}" is no path from the root of the tree'
        elif not name.startswith(tuple(allowed_for(path))):
            yield number, f'"{name}" is out of bounds for {"/".join(path.split("/")[:2])}'
        elif path.startswith("experiments/") and experiment(name) not in (
                "", experiment(path), *EXPERIMENTS.get(experiment(path), [])):
            yield number, f'"{name}" is out of bounds for {path.rpartition("/")[0]}'
        elif "/cuda/" in name and not path.startswith(("profilers/cuda/", "tests/profilers/cuda/")):
            yield number, f'"{name}" is known to profilers/cuda alone'


def check_tree(root):
    offences, files = [], 0
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            offences += [f"{path}:{line}: {text}" for line, text in check_file(root, path)]
    return offences, files


def self_test():
    good = '#pragma once\n\n#include <vector>\n\n#include "framework/base/a.h"\n'
    bad = {
        "framework/base/bad1.h": '#include <vector>\n',
        "framework/base/bad2.h": '#pragma once\n#include "framework/graph/g.h"\n',
        "framework/graph/bad3.h": '#pragma once\n#include "g.h"\n',
        "framework/graph/bad4.h": '#pragma once\n#include <yaml-cpp/yaml.h>\n',
        "framework/graph/bad5.h": '#pragma once\n#include <boost/graph/topological_sort.hpp>\n',
        "framework/graph/bad6.cc": '#include <framework/graph/g.h>\n',
        "agents/bad7.cc": '#include "simulator/s.h"\n',
        "agents/common/bad_agent.cc": '#include "agents/x.h"\n',
        "simulator/bad8.cc": '#include "agents/x.h"\n',
        "framework/results/bad9.cc": '#include "framework/config/c.h"\n',
        "experiments/bad10.cc": '#include <CLI/CLI.hpp>\n',
        "experiments/bad11.h": '#pragma once\n#include <CLI/App.hpp>\n',
        "tests/experiments/bad12.cc": '#include <CLI/CLI.hpp>\n',
        "experiments/run/bad13.cc": '#include "experiments/sweep/s.h"\n',
        "experiments/bad14.cc": '#include "experiments/run/r.h"\n',
    }
    fine = {
        "framework/base/a.h": good.replace('#include "framework/base/a.h"\n', ""),
        "framework/config/c.h": good,
        "framework/graph/g.h": "// What it is.\n" + good,
        "framework/graph/g.cc": '#include <yaml-cpp/yaml.h>\n#include "framework/config/c.h"\n',
        "simulator/s.h": good,
        "agents/x.h": good,
        "experiments/command_line.cc": '#include <CLI/CLI.hpp>\n',
        "experiments/f.h": good,
        "experiments/run/r.h": good + '#include "experiments/f.h"\n',
        "experiments/sweep/s.h": good + '#include "experiments/run/r.h"\n',
        "tests/experiments/t.cc": '#include "experiments/sweep/s.h"\n',
        "experiments/e.cc": '#include "simulator/s.h"\n#include "agents/x.h"\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {**bad, **fine}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        offences, files = check_tree(root)
    found = {offence.split(":")[0] for offence in offences}
    assert found == set(bad), f"missed {set(bad) - found}, wrongly accused {found - set(bad)}"
    assert len(offences) == len(bad), offences
    assert files == len(bad) + len(fine)


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        print("the checker finds what it should")
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    self_test()
    offences, files = check_tree(pathlib.Path(arguments[0]))
    print("\n".join(offences) if offences else f"{files} files keep the arrows")
    return 1 if offences or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
