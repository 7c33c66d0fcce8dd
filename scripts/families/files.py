"""The files beside the graphs: checksums, train/test splits, the table of the README."""

from __future__ import annotations

import hashlib
import json
import pathlib
import subprocess
import tempfile
from typing import Any, Iterable, Mapping

from emplace.importers import graph_file
from families import FAMILIES, GRAPHS, Family, graph_name, split

GRAPHS_FOLDER = pathlib.PurePosixPath("graphs/families")  # below a configs folder
SPLITS_FOLDER = pathlib.PurePosixPath("families")
CLUSTER = "placeto_2xk80"
TABLE_BEGIN, TABLE_END = "<!-- table -->\n", "<!-- end of table -->\n"
SEARCHES = ("hill_climb", "simulated_annealing")
EVALUATIONS = 4000  # of each search of the table


class FileError(ValueError):
    """A file beside the graphs has unexpected content."""


def graph_path(configs: pathlib.Path, family: Family, index: int) -> pathlib.Path:
    return configs / GRAPHS_FOLDER / family.name / f"{graph_name(index)}.json.gz"


def sums_file(configs: pathlib.Path) -> pathlib.Path:
    return configs / GRAPHS_FOLDER / "SHA256SUMS"


def checksums(configs: pathlib.Path) -> dict[str, str]:
    """Maps "cifar10/00.json.gz" to its SHA-256, for every existing graph of a family."""
    folder = configs / GRAPHS_FOLDER
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for name in FAMILIES for path in sorted((folder / name).glob("*.json.gz"))}


def write_checksums(configs: pathlib.Path) -> None:
    """Writes the checksums in the format of `sha256sum`."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(checksums(configs).items())]
    sums_file(configs).write_text("".join(lines))


def read_checksums(path: pathlib.Path) -> dict[str, str]:
    """Reads checksums. Throws OSError if the file is missing, FileError naming a line not in sha256sum's format."""
    sums = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name:
            raise FileError(f"{path}:{number}: expected \"SHA256  NAME\", got {line!r}")
        sums[name] = digest
    return sums


def differences(configs: pathlib.Path, expected: Mapping[str, str],
                names: Iterable[str]) -> list[str]:
    """Returns the differences of the graphs `names` from `expected`, one sentence each; empty: none."""
    found = checksums(configs)
    problems = []
    for name in names:
        if name not in found:
            problems.append(f"{name}: missing")
        elif name not in expected:
            problems.append(f"{name}: has no checksum")
        elif found[name] != expected[name]:
            problems.append(f"{name}: differs (SHA-256 {found[name][:12]}.., expected "
                            f"{expected[name][:12]}..)")
    return problems


def coarsening(family: Family) -> str:
    return f"[colocate, gradients, {{merge_cheapest: {{groups: {family.groups}}}}}]"


def split_yaml(family: Family, seed: int, count: int) -> str:
    """Returns the text of configs/families/NAME.yaml: graphs for training, graphs for tests, and clusters."""
    lines = [f"# {family.sentence[0].upper()}{family.sentence[1:]}.\n"
             f"# For Placeto's generalisation experiment (NeurIPS 2019).\n"
             f"# Written by scripts/generate_families.py --seed {seed}. "
             f"[V] looked up, [?] not sure, [ours] our choice.\n"
             f"name: {family.name}\n"
             f"cluster: {CLUSTER}    # [V] two K80\n"
             f"semantics: queue          # [V] the published simulator's\n"
             f"simulate_groups: true          # [ours] it searches the graph of groups\n"
             f"# [V] about {family.groups} groups; [?] cheap ones merged with a neighbour. "
             f"Gradients with their forward ops [ours].\n"
             f"coarsen: {coarsening(family)}\n"]
    for key, names in zip(("train", "test"), split(family, seed, count)):
        mark = " [?]" if count == GRAPHS else ""
        lines.append(f"{key}:    # {len(names)} of {count}{mark}; which: drawn by seed [ours]\n")
        lines += [f"  - ../{GRAPHS_FOLDER}/{family.name}/{name}.json.gz\n" for name in names]
    return "".join(lines)


def write_split(configs: pathlib.Path, family: Family, seed: int, count: int) -> pathlib.Path:
    path = configs / SPLITS_FOLDER / f"{family.name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(split_yaml(family, seed, count))
    return path


def measure(program: pathlib.Path, family: Family, path: pathlib.Path) -> dict[str, Any]:
    """Returns the simulator's figures of a graph: groups, time [ms] on one GPU and the best one found.

    Throws FileError with the program's message if it fails.
    """
    def emplace(*arguments: str) -> str:
        result = subprocess.run([program, *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            raise FileError(f"{path}: {' '.join(map(str, [program, *arguments]))}: {result.stderr}")
        return result.stdout

    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "run.yaml"
        config.write_text(f"graph: {path.resolve()}\ncluster: {CLUSTER}\nsemantics: queue\n"
                          f"simulate_groups: true\ncoarsen: {coarsening(family)}\n"
                          f"agents: [single_gpu, {', '.join(SEARCHES)}]\njobs: 1\n"
                          f"budget: {{evaluations: {EVALUATIONS}, seconds: none}}\n")
        table = json.loads(emplace("run", str(config), "--json", "-o", f"{folder}/run.h5"))
        passes = emplace("graph", "coarsen", str(path), "--cluster", CLUSTER, "--pass", "colocate",
                         "--pass", "gradients", "--pass", f"merge_cheapest: {{groups: {family.groups}}}")
    times = {row["agent"]: row["step_time_ns"]["median"] / 1e6 for row in table["agents"]}
    groups = next(line.split()[1] for line in passes.splitlines() if line.startswith("merge_cheapest"))
    return {"groups": int(groups), "one": times["single_gpu"],
            "best": min(times[name] for name in SEARCHES)}


def table_row(program: pathlib.Path, configs: pathlib.Path, family: Family, seed: int, count: int,
              index: int) -> str:
    path = graph_path(configs, family, index)
    document = graph_file.read(path)
    figures, measured = graph_file.statistics(document), measure(program, family, path)
    side = "train" if graph_name(index) in split(family, seed, count)[0] else "test"
    keys = ("batch", "filters", "cells", "layers", "hidden", "unroll", "vocab")
    sizes = ", ".join(f"{key} {document['source'][key]}" for key in keys
                      if key in document["source"])
    if "cell" in document["source"]:
        sizes += f", {len(document['source']['cell'].split())} nodes"
    return (f"| `{family.name}/{graph_name(index)}` | {side} | {sizes} | {figures['ops']} "
            f"| {measured['groups']} | {figures['parameters']} | {measured['one']:.1f} "
            f"| {measured['best']:.1f} | {measured['one'] / measured['best']:.2f} |\n")


TABLE_HEAD = ("| graph | split | sizes | ops | groups | parameters | one GPU [ms] | found [ms] "
              "| speed-up |\n|---|---|---|---|---|---|---|---|---|\n")


def replace_table(text: str, rows: list[str]) -> str:
    """Returns the README `text` with other rows between the marks of its table."""
    before, begin, rest = text.partition(TABLE_BEGIN)
    _, end, after = rest.partition(TABLE_END)
    if not begin or not end:
        raise FileError(f"the README has no table between {TABLE_BEGIN.strip()!r} and "
                        f"{TABLE_END.strip()!r}")
    return before + begin + TABLE_HEAD + "".join(rows) + end + after
