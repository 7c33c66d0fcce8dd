#!/usr/bin/env python3
"""Draws machines at random: GPUs of one kind or two, from PCI Express to NVLink, with ample or scarce memory."""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
from typing import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "configs" / "clusters" / "drawn"
COUNT = 60
MEMORY_GIB = {"k40": 11, "k80": 11, "p100": 15, "v100": 15, "a100": 39, "h100": 79}
EPILOG = """
Number N depends on --seed and N only, and is called after the folder. Kinds are those of configs/device_kinds; all choices are ours.

examples
  scripts/generate_clusters.py               # 60 of them into configs/clusters/drawn
  scripts/generate_clusters.py --check       # compares the files with those that would be written
  scripts/generate_clusters.py --seed 1 --count 48 --output configs/clusters/unseen   # unseen00 and so on

exit codes: 0 done; 1 a file could not be written, or --check found a difference; 2 the request is wrong.
"""


def draw(cluster: str, seed: int, number: int) -> str:
    """Returns the YAML of a cluster."""
    rng = random.Random(f"cluster {seed} {number}")
    count = rng.randint(2, 8)
    kinds = rng.choices(list(MEMORY_GIB), k=2 if rng.random() < 0.4 else 1)
    share = rng.choice([1, 1, 1, 0.5, 0.25])  # of the memory that is available to a framework
    host_bandwidth = rng.choice([6, 12, 24])
    wiring = rng.choice(["one channel for all", "pairs", "a channel for each pair and direction"])
    bandwidth = rng.choice([6, 10, 12, 20, 24, 48, 150, 250])
    latency = rng.choice([5, 9, 15, 25])

    devices = ['  - {name: "cpu:0", kind: haswell_18c, memory: 128GiB}']
    channels, routes = [], []

    def channel(name: str, latency_us: int, gigabytes: float) -> None:
        channels.append(f'  - {{name: "{name}", latency: {latency_us}us, bandwidth: {gigabytes:g}GB/s}}')

    def route(source: str, target: str, via: str) -> None:
        routes.append(f'  - {{from: {source}, to: {target}, via: ["{via}"]}}')

    if wiring != "a channel for each pair and direction":
        slower = bandwidth if wiring == "one channel for all" else max(4, bandwidth / 3)
        channel("root", latency if wiring == "one channel for all" else latency + 8, slower)
        route('"gpu:*"', '"gpu:*"', "root")
    for i in range(count):
        kind = rng.choice(kinds)
        devices.append(f'  - {{name: "gpu:{i}", kind: {kind}, memory: {MEMORY_GIB[kind] * share:g}GiB}}')
        for name, source, target in ((f"up{i}", f"gpu:{i}", "cpu:0"), (f"down{i}", "cpu:0", f"gpu:{i}")):
            channel(name, latency + 3, host_bandwidth)
            route(f'"{source}"', f'"{target}"', name)
    if wiring == "pairs":
        for i in range(0, count - 1, 2):
            channel(f"pair{i}", latency, bandwidth)
            both = f'["gpu:{i}", "gpu:{i + 1}"]'
            route(both, both, f"pair{i}")
    elif wiring != "one channel for all":
        for i in range(count):
            for j in range(count):
                if i != j:
                    channel(f"gpu:{i}->gpu:{j}", latency, bandwidth)
                    route(f'"gpu:{i}"', f'"gpu:{j}"', f"gpu:{i}->gpu:{j}")
    return "\n".join([
        f"# {count} GPUs ({', '.join(dict.fromkeys(kinds))}), {wiring}, {bandwidth} GB/s. [ours], drawn by",
        f"# scripts/generate_clusters.py --seed {seed}.",
        f"name: {cluster}", "devices:", *devices, "channels:", *channels, "routes:", *routes, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or checks the files."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of every draw (0)")
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help=f"clusters ({COUNT})")
    parser.add_argument("--output", type=pathlib.Path, default=FOLDER, metavar="FOLDER",
                        help="configs/clusters/drawn of the source tree")
    parser.add_argument("--check", action="store_true", help="compare; write nothing")
    arguments = parser.parse_args(argv)
    if arguments.count < 1:
        parser.error(f"--count is {arguments.count}, expected at least 1")
    try:
        if not arguments.check:
            arguments.output.mkdir(parents=True, exist_ok=True)
        for number in range(arguments.count):
            name = f"{arguments.output.resolve().name}{number:02}"
            path = arguments.output / f"{name}.yaml"
            text = draw(name, arguments.seed, number)
            if not arguments.check:
                path.write_text(text)
            elif not path.is_file() or path.read_text() != text:
                print(f"{path}: differs from the cluster that --seed {arguments.seed} draws", file=sys.stderr)
                return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
