"""Machines, their free figures, and their files in a configs folder."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import textwrap
from typing import Mapping

import yaml


@dataclasses.dataclass(frozen=True)
class Figure:
    """A free figure of a machine; `low` and `high` bound the plausible range, `source` gives the reason."""

    name: str
    unit: str
    low: float
    high: float
    meaning: str
    source: str


# "(2016)" is TensorFlow's source of that year, as a fork kept it: github.com/hughperkins/tf-coriander.
FIGURES = (
    Figure("issue", "us", 2, 50, "host time per op or copy, one after another",
           "[R] an executor's own time for an op is a few us; [ours] up to 50 when all its threads want one lock"),
    Figure("latency", "us", 20, 1000, "from the start of a copy to its arrival, beside the wire time",
           "[V] its end is noticed by a thread that polls every 10 us, and after 1 ms when it was idle "
           "(gpu_event_mgr.cc, 2016); [R] one or two threads are woken"),
    Figure("bandwidth", "GB/s", 1, 10, "of all copies of one direction together",
           "[R] 10 between two GPUs of a board, 1.5 to 6 from pageable memory; [ours] 1 where a copy goes "
           "through the host in two such halves, one after another"),
    Figure("cpu_share", "", 0.25, 2, "the CPU's shares of its peaks over those in its kind's file",
           "[ours] the file's own are made for a table of 2017 without `issue`"),
)
MEMORY = Figure("memory", "GiB", 6, 11, "of a GPU, for tensors",
                "[R] about 11.2 are left beside ECC, of which the framework leaves 0.3 alone; [ours] its allocator "
                "rounds to 256 B [R] and may lose half to fragments")


@dataclasses.dataclass(frozen=True)
class Machine:
    """A paper's machine: its sweep in configs/papers/, its kinds of devices, its GPU counts.

    `cpu` empty: the machine is published as a cluster of GPUs alone, and none of its figures is free.
    `before`: rules of the paper's expert that come before those of configs/agents/expert_NAME.yaml.
    """

    name: str
    sweep: str
    gpu: str
    cpu: str
    gpus: tuple[int, ...]
    sentence: str
    before: tuple[Mapping[str, str], ...] = ()

    def cluster(self, gpus: int) -> str:
        return f"{self.name}_{gpus}x{self.gpu}"


# Our reading: the expert placed the forward pass, and tf.gradients was called with its default, without
# colocate_gradients_with_ops. TensorFlow's placer then has the gradients on the first GPU. ICLR 2018 is
# different: TensorFlow's translation model of that year (github.com/tensorflow/nmt) requests co-location,
# and without it the expert's eight layers would need 17 GiB of a GPU.
GRADIENTS_ON_THE_FIRST = ({"match": "gradients/*", "device": "gpu"},)
MACHINES = (
    Machine("tf_2016", "mirhoseini2017", "k80", "haswell_18c", (2, 4),
            "TensorFlow r0.12 on Tesla K80 GPUs (ICML 2017)", GRADIENTS_ON_THE_FIRST),
    Machine("tf_2017", "liu2019", "k40", "haswell_18c", (2, 4, 8), "TensorFlow r1.3 on Tesla K40 GPUs (ICLR 2018)"),
    Machine("placeto", "placeto2019", "k80", "", (2, 4), "Placeto's published simulator (NeurIPS 2019)"),
)
HEAD = "# Written by scripts/fit_papers_machine.py; configs/papers/machines.md has the method and its errors.\n"


def flow(values: Mapping[str, object], indent: int = 0) -> str:
    """Returns a YAML map in braces; with an indent, in lines of at most 110 characters that begin there."""
    text = "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"
    return f"\n{' ' * indent}".join(textwrap.wrap(text, 110 - indent)) if indent else text


def read_kinds(configs: pathlib.Path, name: str) -> dict[str, dict]:
    """Returns the kinds of a file of the library."""
    return yaml.safe_load((configs / "device_kinds" / f"{name}.yaml").read_text())["device_kinds"]


def kinds_file(configs: pathlib.Path, machine: Machine, figures: Mapping[str, float]) -> str:
    """Returns the machine's kinds: those of the library with the time to issue, the CPU's with other shares."""
    parts = [f"# The devices of {machine.sentence}, dispatched by one host.\n{HEAD}"
             f"# [ours] issue and the CPU's shares are fitted; the rest is {machine.gpu}.yaml and {machine.cpu}.yaml, "
             "with their marks.\ndevice_kinds:\n"]
    for kind in (machine.gpu, machine.cpu):
        known = read_kinds(configs, kind)[kind]
        share = figures["cpu_share"] if kind == machine.cpu else 1
        efficiency = {name: float(f"{min(1, value * share):.3g}") for name, value in known["efficiency"].items()}
        scaled = f", shares times {share:g}" if kind == machine.cpu else ""
        parts.append(f"  {kind}_{machine.name}:\n    class: {known['class']}\n    peak: {flow(known['peak'])}\n"
                     f"    memory_bandwidth: {known['memory_bandwidth']}\n    overhead: {known['overhead']}\n"
                     f"    issue: {figures['issue']:.4g}us\n    efficiency: {flow(efficiency, 17)}\n"
                     f"    source: \"{kind}.yaml{scaled}; issue: fitted\"\n")
    return "".join(parts)


def cluster_file(machine: Machine, figures: Mapping[str, float], gpus: int) -> str:
    """Returns the cluster with so many GPUs; without a figure `memory` they have no limit."""
    channel = f"latency: {figures['latency']:.4g}us, bandwidth: {figures['bandwidth']:.4g}GB/s"
    memory = f", memory: {figures['memory'] * 1024:.0f}MiB" if "memory" in figures else ""
    devices = "".join(f'  - {{name: "gpu:{i}", kind: {machine.gpu}_{machine.name}{memory}}}\n' for i in range(gpus))
    name = machine.cluster(gpus)
    return (f"# {machine.sentence}: {gpus} GPUs, as its published steps suggest.\n{HEAD}"
            "# [V] looked up, [ours] our choice: latency, bandwidth and the memory of a GPU are fitted.\n"
            f"name: {name}\ndevices:\n"
            f'  - {{name: "cpu:0", kind: {machine.cpu}_{machine.name}, memory: 64GiB}}\n{devices}'
            "channels:\n"
            "  # [V] A copy waits for the compute streams of the GPUs at its ends (gpu_util.cc, 2016). [ours] It\n"
            "  # keeps them busy for its wire time, and goes through the host, one at a time in each direction.\n"
            f"  - {{name: up, {channel}, occupies: destination}}\n"
            f"  - {{name: down, {channel}, occupies: source}}\n"
            f"  - {{name: peer, {channel}, occupies: both}}\n"
            "routes:\n"
            '  - {from: "cpu:0", to: "gpu:*", via: [up]}\n'
            '  - {from: "gpu:*", to: "cpu:0", via: [down]}\n'
            '  - {from: "gpu:*", to: "gpu:*", via: [peer]}\n')


def write_files(folder: pathlib.Path, configs: pathlib.Path, machine: Machine, figures: Mapping[str, float]) -> None:
    """Writes the machine's files below `folder`, a configs folder; `configs` has the library's kinds."""
    (folder / "device_kinds" / f"{machine.name}.yaml").write_text(kinds_file(configs, machine, figures))
    for gpus in machine.gpus:
        path = folder / "clusters" / f"{machine.cluster(gpus)}.yaml"
        path.write_text(cluster_file(machine, figures, gpus))


def read_figures(configs: pathlib.Path, machine: Machine) -> dict[str, float]:
    """Returns the figures in the files that `write_files` wrote; none for a machine without free figures."""
    if not machine.cpu:
        return {}

    def number(text: str) -> float:
        return float(re.match(r"[0-9.e+]+", text).group())

    cpu = read_kinds(configs, machine.name)[f"{machine.cpu}_{machine.name}"]
    cluster = yaml.safe_load((configs / "clusters" / f"{machine.cluster(machine.gpus[0])}.yaml").read_text())
    channel = cluster["channels"][0]
    return {"issue": number(cpu["issue"]), "latency": number(channel["latency"]),
            "bandwidth": number(channel["bandwidth"]),
            "cpu_share": float(re.search(r"shares times ([0-9.]+)", cpu["source"]).group(1)),
            "memory": float(f"{number(cluster['devices'][1]['memory']) / 1024:.3g}")}
