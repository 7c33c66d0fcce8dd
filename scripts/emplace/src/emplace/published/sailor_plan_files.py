"""Reads executed plans of Sailor; see sailor_plans.py. A refusal names file, key, value and the expected form."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from typing import Any

from . import tables
from .tables import LeftOut, PublishedFailure

_MOST_LAYERS = 1000


@dataclasses.dataclass(frozen=True)
class Replica:
    gpu: str
    degree: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """An executed plan. stages: layers; replicas: [stages][replicas]; measured [ns]; memory [B]."""

    case: str
    gpu: str  # the machine
    model: str
    stages: list[list[int]]
    replicas: list[list[Replica]]
    micro_batch: int
    micro_batches: int
    nodes: int
    measured: float
    memory: float

    @property
    def width(self) -> int:
        """Returns the number of replicas."""
        return len(self.replicas[0])

    def node(self, replica: int, stage: int) -> int:
        """Returns the node of a stage of a replica; the replicas of a stage are neighbours."""
        groups = len(self.stages) * self.width
        return (stage * self.width + replica) // -(-groups // self.nodes)

    @property
    def peers(self) -> str:
        """Returns the name of the plans that this one is an alternative to."""
        gpus = sum(replica.degree for stage in self.replicas for replica in stage)
        return (f"{f'{self.model}, ' if self.model else ''}{gpus} GPUs, batch "
                f"{self.micro_batch * self.micro_batches * self.width}")

    @property
    def crosses_nodes(self) -> bool:
        return self.node(self.width - 1, len(self.stages) - 1) > 0


def read(folder: pathlib.Path) -> list[Plan | LeftOut]:
    """Returns the plans. Throws PublishedFailure for a damaged file, and if there is none."""
    return [_plan(path) for path in tables.files(folder, "plan_config_*.json")]


def _plan(path: pathlib.Path) -> Plan | LeftOut:
    """Reads a plan. Throws PublishedFailure naming file, key and value."""
    tables.read_numbers(path, ())
    document = json.loads(path.read_bytes())
    machine, model, name = _named(path)
    case = f"{machine}/{name}"
    if "real" not in document:
        return LeftOut(case, "it was not executed (no key real)")
    real, micro_batch, batch, nodes, memory = tables.read_numbers(path, ("real", "mbs", "gbs", "N", "max_mem"))
    for key, value in (("mbs", micro_batch), ("gbs", batch), ("N", nodes)):
        if value != int(value) or value < 1:
            raise _failure(path, key, document[key], "a whole number above 0")
    for key, value in (("real", real), ("max_mem", memory)):
        if value <= 0:
            raise _failure(path, key, document[key], "a number above 0")
    pipelines = document.get("pipeline_list")
    if not isinstance(pipelines, list) or not pipelines:
        raise _failure(path, "pipeline_list", pipelines, "a list of pipelines")
    if len(pipelines) > 1:
        return LeftOut(case, "several pipelines")
    layers, groups = _stages(path, pipelines[0])
    replicas: list[list[Replica]] = []
    for stage in groups:
        replicas.append([])
        for pieces, degree in stage:
            if len({(gpu, zone) for gpu, _, zone in pieces}) > 1:
                return LeftOut(case, "a replica of a stage has several kinds of GPU")
            replicas[-1].append(Replica(pieces[0][0], degree))
    if len({zone for stage in groups for pieces, _ in stage for _, _, zone in pieces}) > 1:
        return LeftOut(case, "no table of links between zones")
    if len(set(map(len, replicas))) > 1:
        return LeftOut(case, "stages with different numbers of replicas")
    each = int(micro_batch) * len(replicas[0])
    if batch % each:
        return LeftOut(case, f"gbs is no multiple of mbs x dp ({int(batch)}, {each})")
    return Plan(case, machine, model, layers, replicas, int(micro_batch), int(batch) // each, int(nodes), real * 1e9,
                memory)


def _named(path: pathlib.Path) -> tuple[str, str, str]:
    """Returns machine, model ("": not named) and the rest of the path."""
    parts = path.resolve().parts
    begin = parts.index("validation") + 1 if "validation" in parts[:-3] else len(parts) - 3
    inner = parts[begin:-1]
    models = [part for part in inner[1:] if not re.fullmatch(r"N\d+", part)]
    return inner[0], models[-1] if models else "", "/".join((*inner[1:], path.stem))


def _stages(path: pathlib.Path,
            pipeline: Any) -> tuple[list[list[int]], list[list[tuple[list[tuple[str, int, str]], int]]]]:
    """Returns the layers of each stage, and its replicas: GPU, number and zone of its pieces, degree."""
    pipeline = pipeline if isinstance(pipeline, dict) else {}
    layers = pipeline.get("layers_per_stage")
    if not isinstance(layers, list) or not all(isinstance(stage, list) and stage for stage in layers) or [
            layer for stage in layers for layer in stage] != list(range(sum(map(len, layers)))):
        raise _failure(path, "layers_per_stage", layers, "the layers 0, 1, 2, ... divided among stages")
    if not 3 <= sum(map(len, layers)) <= _MOST_LAYERS:
        raise _failure(path, "layers_per_stage", layers, f"3 to {_MOST_LAYERS} layers")
    given = pipeline.get("tmp_per_stage")
    if not isinstance(given, list) or len(given) != len(layers):
        raise _failure(path, "tmp_per_stage", given, f"a list of {len(layers)} stages")
    groups = []
    for stage in given:
        if not isinstance(stage, list) or not stage:
            raise _failure(path, "tmp_per_stage", stage, "a list of replicas")
        groups.append([_replica(path, replica) for replica in stage])
    if pipeline.get("dp") != [len(stage) for stage in groups]:
        raise _failure(path, "dp", pipeline.get("dp"), f"the numbers of replicas {[len(stage) for stage in groups]}")
    return layers, groups


def _replica(path: pathlib.Path, replica: Any) -> tuple[list[tuple[str, int, str]], int]:
    match replica:
        case [[_, *_] as pieces, int(degree)] if degree > 0 and not isinstance(degree, bool):
            read = [(gpu, count, zone) for piece in pieces if isinstance(piece, list) and len(piece) == 3
                    for gpu, count, zone in [piece] if isinstance(gpu, str) and gpu and isinstance(count, int)
                    and isinstance(zone, str)]
            if len(read) == len(pieces):
                return read, degree
    raise _failure(path, "tmp_per_stage", replica, 'a replica such as [[["GH-96", 4, "us-central1-a"]], 4]')


def _failure(path: pathlib.Path, key: str, value: Any, expected: str) -> PublishedFailure:
    text = json.dumps(value)
    return PublishedFailure(f"{path}: {key} is {text if len(text) <= 80 else text[:77] + '...'}, expected {expected}")
