"""What is disturbed: five commands of emplace, each on a small problem of its own, a second or less."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path


def generate(program: Path, folder: Path, name: str, ops: int, seed: int) -> None:
    """A random problem: folder/NAME.json.gz and folder/NAME.cluster.yaml."""
    subprocess.run([program, "graph", "generate", folder / f"{name}.json.gz", "--ops", str(ops), "--seed", str(seed)],
                   check=True, stdout=subprocess.DEVNULL)


def table(program: Path, results: Path) -> object:
    """What `emplace table` says of results but for where they are; that they can be read is a check of its own."""
    shown = subprocess.run([program, "table", results, "--format", "json"], capture_output=True, text=True)
    if shown.returncode != 0:
        raise AssertionError(f"results that cannot be read: {shown.stderr.strip()}")
    found = json.loads(shown.stdout)
    del found["sources"]
    return found


class Job:
    """A command that writes into a folder.

    name        what it is called, and the command of emplace
    resumes     takes --resume
    """

    name = ""
    resumes = True

    def __init__(self, program: Path, inputs: Path) -> None:
        self.program = program
        self.inputs = inputs / self.name
        self.inputs.mkdir(parents=True)
        self.prepare()

    def prepare(self) -> None:
        """Writes what the command reads into self.inputs."""

    def arguments(self, out: Path) -> list[str]:
        """The command that writes into the folder `out`, which is there."""
        raise NotImplementedError

    def claims(self, text: str) -> set[str]:
        """What the command said to be done, from its output."""
        return set()

    def acknowledged(self, text: str) -> int | None:
        """How many it found done when it was started with --resume; None: it did not come to say so."""
        return None

    def lost(self, out: Path, claims: set[str]) -> set[str]:
        """Claims whose files are not there."""
        return set()

    def result(self, out: Path) -> object:
        """What must be the same however often it was disturbed: all but times."""
        raise NotImplementedError


class Run(Job):
    name = "run"

    def prepare(self) -> None:
        generate(self.program, self.inputs, "p", 40, 1)
        (self.inputs / "run.yaml").write_text(
            f"graph: {self.inputs}/p.json.gz\ncluster: {self.inputs}/p.cluster.yaml\n"
            "agents: [hill_climb, simulated_annealing]\nseeds: 0:2\nbudget: {evaluations: 500, seconds: none}\njobs: 1\n")

    def arguments(self, out: Path) -> list[str]:
        return ["run", str(self.inputs / "run.yaml"), "-o", str(out / "r.h5")]

    def claims(self, text: str) -> set[str]:
        return set(re.findall(r"^#\d+ (\S+): .* \((?:budget|finished), ", text, re.M))

    def acknowledged(self, text: str) -> int | None:
        found = re.search(r"^resumed .*, (\d+) are complete, ", text, re.M)
        return int(found[1]) if found else None

    def result(self, out: Path) -> object:
        return table(self.program, out / "r.h5"), (out / "r.placement.json").read_bytes()


class Sweep(Job):
    name = "sweep"

    def prepare(self) -> None:
        for seed in (1, 2):
            generate(self.program, self.inputs, f"p{seed}", 40, seed)
        (self.inputs / "s.yaml").write_text(
            f"base:\n  cluster: {self.inputs}/p1.cluster.yaml\n  agents: [heft, hill_climb, simulated_annealing]\n"
            "  seeds: 0:2\n  budget: {evaluations: 4000, seconds: none}\n"
            f"grid: {{graph: [{self.inputs}/p1.json.gz, {self.inputs}/p2.json.gz]}}\ncheckpoint_seconds: 0.01\n")

    def arguments(self, out: Path) -> list[str]:
        return ["sweep", str(self.inputs / "s.yaml"), "-o", str(out / "s"), "--jobs", "2"]

    def claims(self, text: str) -> set[str]:
        return set(re.findall(r"^#(\d+) .* \(\d+ evaluations, ", text, re.M))

    def acknowledged(self, text: str) -> int | None:
        found = re.search(r"^resumed .*, (\d+) are done, ", text, re.M)
        return int(found[1]) if found else None

    def lost(self, out: Path, claims: set[str]) -> set[str]:
        return {claim for claim in claims if not (out / "s" / "runs" / f"{int(claim):04}.h5").exists()}

    def result(self, out: Path) -> object:
        return table(self.program, out / "s")


class Generalize(Job):
    name = "generalize"

    def prepare(self) -> None:
        for seed in (1, 2, 3):
            generate(self.program, self.inputs, f"p{seed}", 40, seed)
        (self.inputs / "family.yaml").write_text(
            f"name: family\ncluster: {self.inputs}/p1.cluster.yaml\n"
            f"train: [{self.inputs}/p1.json.gz, {self.inputs}/p2.json.gz]\ntest: [{self.inputs}/p3.json.gz]\n")
        (self.inputs / "g.yaml").write_text(
            f"families: [{self.inputs}/family.yaml]\n"
            "train: [{name: seq2seq, label: rnn, training_updates: 3, hidden: 8}]\n"
            "test:\n  - {name: seq2seq, label: zero_shot, policy: rnn, updates: 0}\n"
            "  - {name: random, evaluations: 5}\n"
            "seeds: 0:2\njobs: 1\n")

    def arguments(self, out: Path) -> list[str]:
        return ["generalize", str(self.inputs / "g.yaml"), "-o", str(out / "g.h5")]

    def claims(self, text: str) -> set[str]:
        return {".".join(pair) for pair in re.findall(r"^(\S+): (\S+) trained in ", text, re.M)}

    def lost(self, out: Path, claims: set[str]) -> set[str]:
        return {claim for claim in claims if not (out / "g.policies" / f"{claim}.policy").exists()}

    def result(self, out: Path) -> object:
        again = subprocess.run([self.program, *self.arguments(out), "--resume"], capture_output=True, text=True)
        if again.returncode != 0:
            raise AssertionError(f"results that cannot be gone on with: {again.stderr.strip()}")
        figures = [re.sub(r"\s+\S+$", "", line) for line in again.stdout.splitlines()  # the last column is seconds
                   if not line.startswith("results")]
        return figures, {path.name: path.read_bytes() for path in (out / "g.policies").iterdir()}


class Profile(Job):
    name = "profile"

    def prepare(self) -> None:
        widths = (16, 48, 32)
        tensors, ops = [], []

        def tensor(name: str, shape: list[int], role: str | None) -> int:
            size = 4
            for extent in shape:
                size *= extent
            tensors.append({"id": len(tensors), "name": name, "shape": shape, "dtype": "f32", "bytes": size}
                           | ({"role": role} if role else {}))
            return len(tensors) - 1

        def op(kind: str, name: str, inputs: list[int], shape: list[int]) -> int:
            output = tensor(name, shape, None)
            ops.append({"id": len(ops), "name": name, "kind": kind, "inputs": inputs, "outputs": [output]})
            return output

        x = tensor("x", [8, widths[0]], "input")
        for layer, (rows, columns) in enumerate(zip(widths, widths[1:])):
            weight = tensor(f"w{layer}", [rows, columns], "input")
            x = op("aten.mm", f"mm{layer}", [x, weight], [8, columns])
            x = op("aten.relu", f"relu{layer}", [x], [8, columns])
        (self.inputs / "chain.json").write_text(json.dumps(
            {"format": "emplace-graph", "version": 1, "name": "chain", "tensors": tensors, "ops": ops}))

    def arguments(self, out: Path) -> list[str]:
        return ["profile", "--graph", str(self.inputs / "chain.json"), "--devices", "cpu:0", "--seconds", "0.002",
                "--in-situ", "1", "--no-links", "--no-interference", "--allow-drift", "-o", str(out / "c.json")]

    def claims(self, text: str) -> set[str]:
        return set(re.findall(r"^(costs|cluster) +\S+$", text, re.M))

    def lost(self, out: Path, claims: set[str]) -> set[str]:
        files = {"costs": "c.json", "cluster": "c.cluster.yaml"}
        return {claim for claim in claims if not (out / files[claim]).exists()}

    def result(self, out: Path) -> object:
        costs = json.loads((out / "c.json").read_text())  # the times differ from one profile to the next
        cluster = (out / "c.cluster.yaml").read_text()
        return (costs["complete"], sorted(op["signature"] for op in costs["ops"]),
                re.findall(r"^name: .*$", cluster, re.M))


class Table(Job):
    """Its input is the folder of a sweep."""

    name = "table"
    resumes = False

    def prepare(self) -> None:
        sweep = Sweep(self.program, self.inputs)
        subprocess.run([self.program, *sweep.arguments(self.inputs), "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def arguments(self, out: Path) -> list[str]:
        return ["table", str(self.inputs / "s"), "-o", str(out / "t.md")]

    def result(self, out: Path) -> object:
        return (out / "t.md").read_bytes()


JOBS = (Run, Sweep, Generalize, Profile, Table)
