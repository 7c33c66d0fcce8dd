"""Target `llama.cpp`: -ngl and -ts, or -ot, as text.

Its rule (src/llama-model.cpp, load_tensors): the input layer is on the CPU. The layers are followed by the output as
the last one; the last -ngl of them go to GPUs. Of these, number i goes to the first GPU at which the running sum of
the -ts shares is more than i / ngl. All before them are on the CPU and are computed there.
"""

from __future__ import annotations

import bisect
import re
import shlex
from typing import Any, Sequence

from .grain import PlaceFailure
from .layered_target import Counts, LayeredTarget
from .simulation import cpus
from .target import Request


class LlamaCppTarget(LayeredTarget):
    """Runs of layers: the first ones on the CPU, the others on GPUs in their order."""

    name = "llama.cpp"
    sentence = "arguments of llama.cpp: -ngl and -ts, or -ot (text only)"
    serial = True

    def __init__(self, request: Request) -> None:
        if not cpus(request.cluster):
            raise PlaceFailure(f"--for llama.cpp: cluster {request.cluster.name!r} has no CPU for the input layer")
        super().__init__(request)
        self.notes.append("the input layer is on the CPU; weights have the types of the model, not of a GGUF file")

    def places(self) -> list[int]:
        return [cpus(self.request.cluster)[0], *self.gpus]

    def items(self) -> int:
        return self.layers + 1  # the output is the last

    def devices(self, counts: Counts) -> list[int]:
        return [self.places()[0], *(device for device, count in zip(self.places(), counts) for _ in range(count))]

    def defaults(self) -> list[tuple[str, Counts]]:
        room = [int(self.request.cluster.memory[device]) for device in self.gpus]
        return [("llama.cpp's default, by memory of GPUs", self._by_rule(self.items(), room))]

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}.llama_cpp.txt"
        on_cpu, on_gpus = payload[0], payload[1:]
        split = ["-ngl", str(sum(on_gpus)), "-sm", "layer", "-ts", ",".join(map(str, on_gpus))] if sum(on_gpus) \
            else ["-ngl", "0"]
        more = ["--no-op-offload"] if on_cpu else []
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# Layers of {self.request.document['name']} for llama.cpp, found by emplace. These arguments "
                       f"were not tested.\n# {self.names(payload)} of {self.layers} layers and the output.\n")
            file.write(shlex.join([*split, *more]) + "\n")
            file.write("# The same for weights alone, by their names; caches stay where -ngl and -ts have them:\n")
            file.write(shlex.join(["-ot", ",".join(self._overrides(payload))]) + "\n")
        return [path]

    def read_counts(self, paths: list[str]) -> Counts:
        with open(paths[0], encoding="utf-8") as file:
            arguments = [shlex.split(line) for line in file if not line.startswith("#")]
        split = dict(zip(arguments[0], arguments[0][1:]))
        shares = [float(share) for share in split.get("-ts", "1").split(",")]
        counts = self._by_rule(int(split["-ngl"]), shares + [0.0] * (len(self.gpus) - len(shares)))
        if self._by_overrides(arguments[1][1]) != self.devices(counts)[1:]:
            raise PlaceFailure(f"{paths[0]}: -ot and -ts give different devices")
        return counts

    def _by_rule(self, gpu_layers: int, shares: Sequence[float]) -> Counts:
        """Returns the counts by llama.cpp's own rule."""
        start, acting = max(self.layers + 1 - gpu_layers, 0), min(gpu_layers, self.layers + 1)
        sums = [sum(shares[:index + 1]) for index in range(len(shares))]
        counts = [0] * (len(shares) + 1)
        for layer in range(self.layers + 1):
            on_gpu = layer >= start and sums[-1] > 0
            counts[1 + bisect.bisect_right([part / sums[-1] for part in sums], (layer - start) / acting)
                   if on_gpu else 0] += 1
        return tuple(counts)

    def _overrides(self, counts: Counts) -> list[str]:
        """Returns PATTERN=BUFFER for each device: "blk\\.(0|1)\\.=CUDA0"."""
        found, first = [], 0
        for place, count in enumerate(counts):
            buffer = "CPU" if place == 0 else f"CUDA{place - 1}"
            numbers = [layer for layer in range(first, first + count) if layer < self.layers]
            if numbers:
                found.append(rf"blk\.({'|'.join(map(str, numbers))})\.={buffer}")
            if first + count == self.layers + 1 and count:
                found.append(f"^output={buffer}")
            first += count
        return found

    def _by_overrides(self, text: str) -> list[int]:
        """Returns [layers + 1] devices: for each tensor the first pattern found in its name decides."""
        rules = [entry.rpartition("=")[::2] for entry in text.split(",")]
        number = {"CPU": 0, **{f"CUDA{index}": index + 1 for index in range(len(self.gpus))}}
        names = [f"blk.{layer}.attn_q.weight" for layer in range(self.layers)] + ["output.weight"]
        return [self.places()[number[next(buffer for pattern, buffer in rules if re.search(pattern, name))]]
                for name in names]
