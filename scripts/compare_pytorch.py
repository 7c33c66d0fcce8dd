#!/usr/bin/env python3
"""Compares the speed of learning in emplace and in PyTorch; prints a table per policy.

    python3 scripts/compare_pytorch.py --program build/release/emplace_bench
                                              needs: pip install -r scripts/requirements-torch.txt

seq2seq, one update: encode T groups, sample K placements step by step, loss = mean(advantage * log
p) less an entropy bonus, backward, Adam step with clipped norm. placeto, one episode: T states one
after another without gradients, then the loss of all of them, backward in batches, Adam step;
without simulations. In PyTorch it also runs with the graph of all steps kept.

The shapes come from the program's benchmarks, which use one thread. PyTorch does the same with one and with two
threads, and with --compile also compiled if that works. Both sides are warmed up, keep freed memory, and take turns,
so that other load affects both. The table has the median of the rounds, the slowest and the fastest. Two threads need
two cores that nothing else uses.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys

from torch_policies import placeto, seq2seq
from torch_policies.learner import Learner

POLICIES = {"seq2seq": seq2seq, "placeto": placeto}
OURS = "emplace, 1 thread"


def keep_freed_memory() -> None:
    """Sets malloc like framework/base/memory.cc, so that both sides have the same conditions."""
    libc = ctypes.CDLL(None)
    for option, mebibytes in ((-3, 32), (-1, 1024), (-2, 16)):  # M_MMAP_, M_TRIM_THRESHOLD, TOP_PAD
        libc.mallopt(option, mebibytes << 20)


def bench(program: str, name: str, seconds: float) -> dict:
    """Returns the program's result of one benchmark, or of all whose name begins with `name`."""
    command = [program, f"--benchmark_filter=^{name}", f"--benchmark_min_time={seconds}",
               "--benchmark_format=json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(result.stdout)["benchmarks"]
    if not found:
        sys.exit(f"{program}: no benchmark {name}")
    return {entry["name"]: entry for entry in found}


def learners_of(policy, shape: dict[str, int], threads: list[int],
                compiled: bool) -> dict[str, Learner]:
    made: dict[str, Learner] = {}
    for with_compiler in [False, True] if compiled else [False]:
        for count in threads:
            name = "PyTorch, compiled" if with_compiler else "PyTorch"
            name += f", {count} thread{'s' * (count > 1)}"
            found = policy.learners(shape, count, with_compiler)
            made |= {name + variant: learner for variant, learner in found.items()}
    for name, learner in list(made.items()):
        try:
            learner.speed(0)
            learner.speed(0)
        except Exception as error:  # torch.compile needs a compiler and headers
            if "compiled" not in name:
                raise
            reason = (str(error) or type(error).__name__).splitlines()[0]
            print(f"{name}: left out: {reason}", file=sys.stderr)
            del made[name]
    return made


def compare(policy, arguments: argparse.Namespace) -> None:
    columns = policy.COLUMNS
    print(f"| {' | '.join(columns)} | | {policy.SPEED} per second | slowest..fastest | ratio |")
    print(f"|{'--:|' * len(columns)}---|--:|--:|--:|")
    for name, result in bench(arguments.program, policy.BENCHMARK, 0.01).items():
        shape = {key: int(value) for key, value in result.items()
                 if isinstance(value, (int, float))}
        others = learners_of(policy, shape, arguments.threads, arguments.compile)
        speeds: dict[str, list[float]] = {other: [] for other in [OURS, *others]}
        for _ in range(arguments.rounds):
            ours = bench(arguments.program, name, arguments.seconds)[name][policy.SPEED]
            speeds[OURS].append(ours)
            for other, learner in others.items():
                speeds[other].append(learner.speed(arguments.seconds))
        ours = statistics.median(speeds[OURS])
        values = " | ".join(str(shape[key]) for key in columns)
        for other, found in speeds.items():
            median = statistics.median(found)
            print(f"| {values} | {other} | {median:.1f} | {min(found):.1f}..{max(found):.1f} "
                  f"| {median / ours:.2f} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="emplace_bench")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="seconds of each side in each round")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of PyTorch")
    parser.add_argument("--compile", action="store_true", help="also torch.compile: takes minutes")
    arguments = parser.parse_args()
    keep_freed_memory()
    for policy in arguments.policies:
        compare(POLICIES[policy], arguments)


if __name__ == "__main__":
    main()
