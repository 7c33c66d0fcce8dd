#!/usr/bin/env python3
"""Compares the speed of the sequence-to-sequence policy here and in PyTorch; prints a table.

    python3 scripts/compare_pytorch.py --program build/release/emplace_bench
                                              needs: pip install -r scripts/requirements-torch.txt

One update: encode T groups, sample K placements step by step, loss = mean(advantage * log p) less
an entropy bonus, backward, Adam step with clipped norm. The program's benchmark BM_Seq2SeqUpdate,
one thread, gives the shapes. PyTorch does the same with one and with two threads, and with
--compile also with the decoder's step compiled where that works. Both sides are warmed up and take
turns, so that other load hits both; the table has the median of the rounds, the slowest and the
fastest. Two threads need two cores that nothing else uses.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Callable

import torch
from torch import Tensor, nn

ENTROPY_WEIGHT = 0.01
BENCHMARK = "BM_Seq2SeqUpdate"
OURS = "emplace, 1 thread"


class Policy(nn.Module):
    """agents/seq2seq/seq2seq_network.h, without what is ours there."""

    def __init__(self, shape: dict[str, int]):
        super().__init__()
        groups, hidden, attention = shape["T"], shape["H"], shape["A"]
        types, vector, devices = shape["type_vector"], shape["device_vector"], shape["D"]
        kinds = torch.arange(groups) % shape["kinds"]
        self.register_buffer("kinds", nn.functional.one_hot(kinds, shape["kinds"]).float())
        self.register_buffer("features", torch.rand(groups, shape["F"] - types))
        self.type_vectors = nn.Parameter(torch.rand(shape["kinds"], types))
        self.encoder = nn.LSTM(shape["F"], hidden)
        self.decoder = nn.LSTMCell(hidden + vector, hidden)
        self.device_vectors = nn.Embedding(devices + 1, vector, padding_idx=devices)
        self.query, self.keys = nn.Linear(hidden, attention), nn.Linear(hidden, attention)
        self.v = nn.Parameter(torch.rand(attention) / attention**0.5)
        self.output = nn.Linear(hidden, devices)
        self.step: Callable[..., tuple[Tensor, Tensor, Tensor]] = self.decode

    def decode(self, device: Tensor, hidden: Tensor, cell: Tensor, states: Tensor, keys: Tensor):
        scores = torch.tanh(self.query(hidden)[:, None, :] + keys) @ self.v
        context = torch.softmax(scores, dim=1) @ states
        decoder_input = torch.cat([self.device_vectors(device), context], dim=1)
        hidden, cell = self.decoder(decoder_input, (hidden, cell))
        return torch.log_softmax(self.output(hidden), dim=1), hidden, cell

    def forward(self, samples: int) -> tuple[Tensor, Tensor]:
        """Log-probabilities of `samples` placements, and their entropies: [samples] each."""
        states, (hidden, cell) = self.encoder(
            torch.cat([self.kinds @ self.type_vectors, self.features], dim=1))
        keys = self.keys(states)
        hidden, cell = hidden.expand(samples, -1), cell.expand(samples, -1)
        device = torch.full((samples,), self.device_vectors.padding_idx)
        steps, devices = [], []
        for _ in range(len(states)):
            log_probabilities, hidden, cell = self.step(device, hidden, cell, states, keys)
            with torch.no_grad():
                device = torch.multinomial(log_probabilities.exp(), 1)[:, 0]
            steps.append(log_probabilities)
            devices.append(device)
        everything = torch.stack(steps)
        picked = everything.gather(2, torch.stack(devices)[:, :, None])
        return picked.sum(dim=(0, 2)), -(everything.exp() * everything).sum(dim=(0, 2))


class Learner:
    """Updates of a policy on given advantages."""

    def __init__(self, shape: dict[str, int], threads: int, compiled: bool):
        self.samples, self.threads = shape["K"], threads
        torch.manual_seed(1)
        self.policy = Policy(shape)
        if compiled:
            self.policy.step = torch.compile(self.policy.decode, dynamic=False)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-4, fused=True)
        self.advantages = torch.rand(self.samples) - 0.5

    def update(self) -> None:
        log_probability, entropy = self.policy(self.samples)
        loss = (self.advantages * log_probability).mean() - ENTROPY_WEIGHT * entropy.mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0, foreach=True)
        self.optimizer.step()

    def speed(self, seconds: float) -> float:
        """Samples per second over at least so many seconds."""
        torch.set_num_threads(self.threads)
        begin, updates = time.perf_counter(), 0
        while updates == 0 or time.perf_counter() - begin < seconds:
            self.update()
            updates += 1
        return self.samples * updates / (time.perf_counter() - begin)


def bench(program: str, name: str, seconds: float) -> dict:
    """The program's result of one benchmark, or of all whose name begins with `name`."""
    command = [program, f"--benchmark_filter=^{name}", f"--benchmark_min_time={seconds}",
               "--benchmark_format=json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(result.stdout)["benchmarks"]
    if not found:
        sys.exit(f"{program}: no benchmark {name}")
    return {entry["name"]: entry for entry in found}


def learners(shape: dict[str, int], threads: list[int], compiled: bool) -> dict[str, Learner]:
    made = {}
    for with_compiler in [False, True] if compiled else [False]:
        for count in threads:
            name = "PyTorch, compiled" if with_compiler else "PyTorch"
            name += f", {count} thread{'s' * (count > 1)}"
            made[name] = Learner(shape, count, with_compiler)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="emplace_bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each side in each round")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of PyTorch")
    parser.add_argument("--compile", action="store_true", help="also torch.compile: takes minutes")
    arguments = parser.parse_args()

    print("| T | D | F | H | A | K | | samples per second | slowest..fastest | ratio |")
    print("|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|")
    for name, result in bench(arguments.program, BENCHMARK, 0.01).items():
        shape = {key: int(value) for key, value in result.items()
                 if key in ("T", "D", "F", "H", "A", "K", "kinds", "type_vector", "device_vector")}
        others = learners(shape, arguments.threads, arguments.compile)
        speeds: dict[str, list[float]] = {other: [] for other in [OURS, *others]}
        for _ in range(arguments.rounds):
            ours = bench(arguments.program, name, arguments.seconds)[name]["samples"]
            speeds[OURS].append(ours)
            for other, learner in others.items():
                speeds[other].append(learner.speed(arguments.seconds))
        ours = statistics.median(speeds[OURS])
        columns = " | ".join(str(shape[key]) for key in ("T", "D", "F", "H", "A", "K"))
        for other, found in speeds.items():
            median = statistics.median(found)
            print(f"| {columns} | {other} | {median:.1f} | {min(found):.1f}..{max(found):.1f} "
                  f"| {median / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
