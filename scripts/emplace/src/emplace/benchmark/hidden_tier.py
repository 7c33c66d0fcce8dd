"""Draws a hidden tier: new instances of the same kinds, made by a seeded generator, so that nobody has tuned on them."""

from __future__ import annotations

import os
import pathlib
import random
from typing import Any

from ..importers import graph_file
from .instances import RECIPES, default_folder, instance, read_yaml
from .recipes import make

_GPUS = {"k40": 11, "k80": 11, "p100": 15, "v100": 15, "a100": 39, "h100": 79}  # memory for a framework [GiB]
_BANDWIDTHS = (6, 12, 24, 48, 150, 250)  # between GPUs [GB/s]
_ATTEMPTS = 20


def draw(folder: str | os.PathLike[str], seed: int, count: int) -> list[str]:
    """Makes `count` instances in a new folder with the layout of configs/benchmark. Returns their names.

    A graph of the menu, on a drawn machine of 2 to 8 GPUs of one kind or two and a CPU; raw, or in 16 to 256 groups; queue or
    stream semantics, or the period of a pipeline. Draws of which a short search finds no placement that fits are repeated.
    The same seed and menus give the same bytes. Throws InputError if the folder is not empty.
    """
    from .. import InputError, search

    at = pathlib.Path(folder)
    if count < 1:
        raise InputError(f"--count: got {count}, expected at least 1")
    if at.exists() and any(at.iterdir()):
        raise InputError(f"{at}: is not empty; expected a new folder")
    graphs = sorted(path.name.removesuffix(".json.gz") for path in (default_folder().parent / "graphs").glob("*.json.gz"))
    menu = read_yaml(default_folder() / RECIPES)
    origin = {"licence": menu["licence"],
              "sources": {**menu["sources"], "machines": {"*": f"emplace benchmark draw --seed {seed}"}}}
    recipes: dict[str, Any] = {}
    for number in range(count):
        name = f"drawn{seed}_{number:03}"
        for attempt in range(_ATTEMPTS):
            rng = random.Random(f"benchmark {seed} {number} {attempt}")
            machine, sentence = _machine(name, rng)
            _write(at / "machines" / f"{name}.yaml", machine)
            recipes[name] = _recipe(name, rng, rng.choice(graphs), sentence)
            _write(at / RECIPES, {**origin, "instances": recipes})
            make(at, [name])
            one = instance(name, at)
            if search(one.problem(threads=1), "hill_climb", evaluations=500).step_time is not None:
                break
            one.path.unlink()
        else:
            raise InputError(f"{name}: no draw of {_ATTEMPTS} fits into memory")
    return list(recipes)


def _recipe(name: str, rng: random.Random, graph: str, machine: str) -> dict[str, Any]:
    groups = rng.choice([None, None, 16, 24, 64, 128, 256])
    passes: list[Any] = ["colocate"]
    if groups:
        passes += ["gradients", "single_consumer", {"merge_cheapest": {"groups": groups}}]
    rules = rng.choice([{"semantics": "queue"}, {"semantics": "stream"}, {"semantics": "stream"}, {"objective": "period"}])
    small = groups is not None and groups <= 64
    return {"tier": "small" if small else "large", "graph": graph, "cluster": f"./machines/{name}.yaml", "coarsen": passes,
            "about": f"{graph} {f'in {groups} groups' if groups else 'op by op'} on {machine}",
            **({"simulate_groups": True} if small else {}), **rules}


def _machine(name: str, rng: random.Random) -> tuple[dict[str, Any], str]:
    """Returns a cluster file and a sentence about it."""
    kinds = rng.choices(sorted(_GPUS), k=rng.choice([1, 1, 2]))
    drawn = [rng.choice(kinds) for _ in range(rng.randint(2, 8))]
    shared, host = rng.random() < 0.4, rng.choice([6, 12, 24])
    bandwidth = rng.choice(_BANDWIDTHS[:4] if shared else _BANDWIDTHS)
    devices = [{"name": "cpu:0", "kind": "haswell_18c", "memory": "128GiB"}] + [
        {"name": f"gpu:{i}", "kind": kind, "memory": f"{_GPUS[kind]}GiB"} for i, kind in enumerate(drawn)]
    machine: dict[str, Any] = {"name": name, "devices": devices}
    if shared:
        machine["channels"] = [{"name": "root", "latency": "15us", "bandwidth": f"{bandwidth}GB/s"}]
        machine["routes"] = [{"from": "*", "to": "*", "via": ["root"]}]
    else:
        machine["channels"] = [{"name": way, "latency": "12us", "bandwidth": f"{host}GB/s"} for way in ("up", "down")]
        machine["all_to_all"] = {"latency": "9us", "bandwidth": f"{bandwidth}GB/s"}
        machine["routes"] = [{"from": "gpu:*", "to": "cpu:0", "via": ["up"]},
                             {"from": "cpu:0", "to": "gpu:*", "via": ["down"]}]
    wires = "one channel" if shared else "channels between pairs"
    return machine, f"{len(drawn)} GPUs ({', '.join(sorted(set(drawn)))}), {wires} of {bandwidth} GB/s"


def _write(path: pathlib.Path, document: dict[str, Any]) -> None:
    import yaml

    path.parent.mkdir(parents=True, exist_ok=True)
    graph_file.write_bytes(yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120).encode(), path)
