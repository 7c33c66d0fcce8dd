"""Targets `vllm` and `deepspeed`: stages of a pipeline, as text."""

from __future__ import annotations

from typing import Any

from .grain import PlaceFailure
from .layered_target import Counts, PipelineTarget
from .target import read_constant


class VllmTarget(PipelineTarget):
    """VLLM_PP_LAYER_PARTITION: layers per stage; embeddings are in the first, norm and head in the last stage."""

    name = "vllm"
    sentence = "VLLM_PP_LAYER_PARTITION and --pipeline-parallel-size (text only)"

    def devices(self, counts: Counts) -> list[int]:
        row = self.in_order(counts)
        return [row[0], *row, row[-1]]

    def defaults(self) -> list[tuple[str, Counts]]:
        """Returns the split of vLLM's get_pp_indices.

        It is equal; the rest goes to the stages before the last, from the back.
        """
        stages = min(len(self.gpus), self.layers)
        numbers = [self.layers // stages] * stages
        for index in range(2, self.layers % stages + 2):
            numbers[-index] += 1
        return [(f"vLLM's default, {stages} stages of equal layers", self.of_stages(numbers))]

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}.vllm.env"
        numbers = [count for _, count in self.used(payload)]
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# Layers of {self.request.document['name']} per stage for vLLM, found by emplace. Text only:"
                       f" not tried out.\n# vllm serve MODEL --pipeline-parallel-size {len(numbers)}\n"
                       f"VLLM_PP_LAYER_PARTITION={','.join(map(str, numbers))}\n")
        return [path]

    def read_counts(self, paths: list[str]) -> Counts:
        with open(paths[0], encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.startswith("VLLM_PP_LAYER_PARTITION=")]
        if not lines:
            raise PlaceFailure(f"{paths[0]}: there is no VLLM_PP_LAYER_PARTITION")
        return self.of_stages([int(number) for number in lines[-1].partition("=")[2].split(",")])


class DeepSpeedTarget(PipelineTarget):
    """Bounds of stages in the list of layers of a PipelineModule: embeddings, layers, head."""

    name = "deepspeed"
    sentence = "a PipelineModule of DeepSpeed with its own bounds (text only)"
    inference_first = False

    def items(self) -> int:
        return self.layers + 2

    def devices(self, counts: Counts) -> list[int]:
        return self.in_order(counts)

    def defaults(self) -> list[tuple[str, Counts]]:
        """Returns the split of partition_uniform: equal; the rest goes to the first stages."""
        stages = min(len(self.gpus), self.items())
        numbers = [self.items() // stages + (stage < self.items() % stages) for stage in range(stages)]
        return [(f"partition_method='uniform', {stages} stages", self.of_stages(numbers))]

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}_deepspeed.py"
        bounds = [0]
        for _, count in self.used(payload):
            bounds.append(bounds[-1] + count)
        with open(path, "w", encoding="utf-8") as file:
            file.write(_DEEPSPEED.format(model=self.request.document["name"], layers=self.layers, bounds=bounds,
                                         stages=len(bounds) - 1))
        return [path]

    def read_counts(self, paths: list[str]) -> Counts:
        bounds = read_constant(paths[0], "BOUNDS")
        return self.of_stages([after - before for before, after in zip(bounds, bounds[1:])])


_DEEPSPEED = '''"""Stages of {model} for DeepSpeed, found by emplace. Text only: not tried out.

    PlacedPipeline(layers=[embeddings, layer 0, ..., layer {layers} - 1, head], num_stages={stages}, loss_fn=...)
"""

from deepspeed.pipe import PipelineModule

BOUNDS = {bounds}  # stage i has layers BOUNDS[i] ... BOUNDS[i + 1] - 1 of the list


class PlacedPipeline(PipelineModule):
    def _partition_layers(self, method="uniform"):
        if len(self._layer_specs) != BOUNDS[-1] or self._topo.get_dim("pipe") != len(BOUNDS) - 1:
            raise ValueError(f"expected {{BOUNDS[-1]}} layers in {{len(BOUNDS) - 1}} stages, got "
                             f"{{len(self._layer_specs)}} in {{self._topo.get_dim('pipe')}}")
        stage = self._topo.get_coord(self.global_rank).pipe
        self.parts = BOUNDS
        self._set_bounds(start=BOUNDS[stage], stop=BOUNDS[stage + 1])
'''
