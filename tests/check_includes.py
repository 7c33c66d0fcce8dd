#!/usr/bin/env python3
"""check_includes.py ROOT: who may include whom. Exit code 1 and one line per offender (file:line: what)."""
import pathlib
import re
import sys

# What a folder may include besides itself, and besides what these may: patterns of paths. The first that matches counts.
ARROWS = {
    "framework/base/": "",
    "framework/config/": "framework/base/",
    "framework/results/": "framework/base/ framework/search/update_table\\.h",
    "framework/ranks/": "framework/base/",
    "framework/graph/": "framework/config/",
    "framework/cluster/": "framework/config/",
    "framework/learn/": "framework/config/",
    "framework/cost/": "framework/graph/ framework/cluster/",
    "framework/placement/": "framework/graph/ framework/cluster/",
    "framework/schedule/": "framework/placement/ framework/cost/",
    "framework/search/": "framework/schedule/ framework/learn/ framework/ranks/",
    "framework/bounds/": "framework/search/",
    "framework/": "",
    "simulator/": "framework/",
    "agents/shared/": "framework/ agents/initial_placements/",
    "agents/": "framework/",
    "profilers/statistics/": "framework/",
    "profilers/kernels/": "framework/",
    "profilers/executor/": "profilers/statistics/ profilers/kernels/",
    "profilers/measure/": "profilers/executor/ simulator/",
    "profilers/cpu/": "profilers/executor/",
    "profilers/cuda/": "profilers/cpu/ profilers/(device_query|device_spec|gpu_module|source_stamp)\\.h",
    "profilers/": "framework/",
    "experiments/console/": "framework/ simulator/ agents/ profilers/ experiments/commands\\.h",
    "experiments/provenance/": "experiments/console/",
    "experiments/problem/": "experiments/provenance/",
    "experiments/info/": "experiments/problem/",
    "experiments/plan/": "experiments/report/",
    "experiments/[^/]+$": "experiments/provenance/",
    "experiments/run/": "experiments/problem/",
    "experiments/export/": "experiments/run/",
    "experiments/simulate/": "experiments/run/",
    "experiments/generalize/": "experiments/run/",
    "experiments/stress/": "experiments/run/",
    "experiments/table/": "experiments/stress/",
    "experiments/sweep/": "experiments/table/",
    "experiments/machine/": "experiments/sweep/",
    "experiments/report/": "experiments/table/",
    "experiments/certify/": "experiments/sweep/",
    "experiments/robustness/": "experiments/sweep/",
    "tests/": ".",
}
ROOMS = "framework simulator agents profilers experiments tests".split()
# Slow to compile, so only in sources.
HEAVY = re.compile(r"(yaml-cpp/|nlohmann/(?!json_fwd\.hpp)|hdf5|H5|muParser|zlib\.h|metis\.h|scotch\.h|cuda|boost/graph/|CLI/|"
                   r"fmt/(chrono|ranges|std)\.h)")
HEAVY_ALLOWED = ("tests/", "profilers/cuda/")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)')


def allowed(pattern):
    return [pattern] + [more for below in ARROWS.get(pattern, "").split() for more in allowed(below)]


def check_file(path, text, exists):
    header = path.endswith("h")
    arrows = allowed(next(pattern for pattern in ARROWS if re.match(pattern, path)))
    if header and not re.match(r"(//.*\n|\n)*#pragma once\n", text):
        yield 1, "a header begins with #pragma once"
    for number, line in enumerate(text.splitlines(), 1):
        quote, name = match.groups() if (match := INCLUDE.match(line)) else ("", "")
        if quote == "<" and name.split("/")[0] in ROOMS:
            yield number, f"our own <{name}> is included with quotes"
        elif quote == "<" and header and HEAVY.match(name) and not path.startswith(HEAVY_ALLOWED):
            yield number, f"<{name}> is heavy and belongs in a source file"
        elif quote == '"' and not exists(name):
            yield number, f'"{name}" is no path from the root of the tree'
        elif quote == '"' and not any(re.match(pattern, name) for pattern in arrows):
            yield number, f'"{name}" is out of bounds for {path.rpartition("/")[0]}'
        elif quote == '"' and "/cuda/" in name and "profilers/cuda/" not in path:
            yield number, f'"{name}" is known to profilers/cuda alone'


def self_test():
    good = '// A page.\n\n#pragma once\n#include <vector>\n#include "framework/base/error.h"\n'
    for path, text, count in (
            ("agents/a.h", good, 0), ("framework/base/b.cc", "#include <zlib.h>\n", 0),
            ("experiments/run/r.cc", '#include "simulator/simulator.h"\n#include "experiments/console/output.h"\n', 0),
            ("agents/a.h", "#include <vector>\n", 1), ("agents/a.h", good + "#include <yaml-cpp/yaml.h>\n", 1),
            ("agents/a.cc", '#include "simulator/s.h"\n#include "a.h"\n#include <agents/a.h>\n', 3),
            ("framework/base/b.cc", '#include "framework/graph/graph.h"\n', 1),
            ("experiments/o.cc", '#include "experiments/run/r.h"\n#include "profilers/cuda/c.h"\n', 2)):
        found = list(check_file(path, text, lambda name: "/" in name))
        assert len(found) == count, (path, text, found)


def main(root):
    self_test()
    files = [file for room in ROOMS for file in sorted((root / room).rglob("*")) if file.suffix in (".h", ".cc", ".cu", ".cuh")]
    found = [f"{path}:{line}: {text}" for path, file in ((file.relative_to(root).as_posix(), file) for file in files)
             for line, text in check_file(path, file.read_text(encoding="utf-8"), lambda name: (root / name).is_file())]
    print("\n".join(found or [f"{len(files)} files keep the arrows"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
