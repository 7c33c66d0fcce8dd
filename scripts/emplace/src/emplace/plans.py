"""Plans of training steps from Python: replicas, stages, micro-batches, and the search for them."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import yaml

from . import _compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._emplace import Cluster, Graph, PlannedStep, Timeline


@dataclasses.dataclass(frozen=True)
class Plan(Mapping[str, Any]):
    """How several devices share a training step; the keys of a plan file, as a mapping, too.

    replicas       copies of the step that work on different data
    micro_batches  of a replica; the graph is the step of one
    recompute      for each layer whose activations are computed again, a pattern of the names of its ops
    bucket         largest gradients of one all-reduce ("25MB"); "0B": one for each tensor
    collectives    "network": all-reduces on a device of class network; "tree": sums in ops
    states         "replicated", or "zero1": each replica updates a part of the parameters
    groups         [replicas] patterns of device names; None: the GPUs evenly in their order

    Stages are the placement of the planned step. Throws InputError naming the wrong key.
    """

    replicas: int = 1
    micro_batches: int = 1
    recompute: Sequence[str] = ()
    bucket: str = "25MB"
    collectives: str = "network"
    states: str = "replicated"
    groups: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        _compiled().plan_text(self)

    def __getitem__(self, key: str) -> Any:
        value = getattr(self, key) if key in self.__dataclass_fields__ else None
        if value is None:
            raise KeyError(key)
        return list(value) if isinstance(value, tuple) else value

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in dataclasses.fields(self) if getattr(self, field.name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def yaml(self) -> str:
        """Returns the content of a plan file (`emplace plan --plan`, the key `plan` of a run)."""
        return str(_compiled().plan_text(self))

    @classmethod
    def from_yaml(cls, text: str) -> Plan:
        """Returns the plan of a file's content. Throws InputError."""
        keys = yaml.safe_load(_compiled().plan_text(text))
        return cls(**{**keys, "recompute": tuple(keys["recompute"]), "groups": keys["groups"] or None})


@dataclasses.dataclass(frozen=True)
class FoundPlan:
    """A plan of a search.

    graph          index among the given graphs
    ranks          devices of each stage: those of the graph (tensor parallel, FSDP), of which the first is named
    micro_batch    samples of a micro-batch
    num_stages     of a replica
    schedule       "gpipe", "1f1b" or "interleaved"
    virtual_stages of each device; more than 1 if interleaved
    stages         [replicas][stages or virtual stages] device and number of layers; of the first replica if the others
                   are alike
    step_time      [ns]; of plans that were not simulated an estimate
    peak           memory in use on the fullest device [B]
    bubble         share of the step in which devices that have work are idle
    communication  share of the step that would be saved if transfers and all-reduces took no time
    gap            distance of the step time to the lower bound over all plans, as a share of that bound
    """

    plan: Plan
    graph: int
    ranks: int
    micro_batch: int
    num_stages: int
    schedule: str
    virtual_stages: int
    stages: list[list[tuple[str, int]]]
    simulated: bool
    step_time: int
    peak: int
    bubble: float
    communication: float
    gap: float


@dataclasses.dataclass(frozen=True)
class BestPlan:
    """The best plan of a search, placed on all replicas.

    placement: [ops of planned.graph] device. issue_order: likewise; None in semantics without one.
    """

    planned: PlannedStep
    placement: npt.NDArray[np.uint8]
    issue_order: npt.NDArray[np.int32] | None
    timeline: Timeline


@dataclasses.dataclass(frozen=True)
class FoundPlans:
    """The result of search_plans().

    plans: the ten best, the best first. usual: the plans that people choose, by name; None: none fits. bound: no plan
    has a shorter step [ns]. complete: whether the search ended before its time was over. verdict: a sentence that
    compares the best plan with the usual ones. best: None: no plan fits.
    """

    plans: list[FoundPlan]
    usual: dict[str, FoundPlan | None]
    bound: int
    complete: bool
    verdict: str
    best: BestPlan | None


def search_plans(graphs: Graph | str | Sequence[Graph | str], cluster: Cluster | str, batch: int, *,
                 sizes: Sequence[int] | None = None, costs: str | None = None, seconds: float = 60.0,
                 semantics: str = "stream", layers: str = "") -> FoundPlans:
    """Searches replicas, stages, micro-batches, recomputation and schedules, like `emplace plan`.

    graphs:  training steps of one model at different sizes of a micro-batch and numbers of ranks
    batch:   samples of a step
    sizes:   [graphs] samples of a micro-batch; None: key `batch` of Graph.source
    costs:   a measured table; None: costs of the graphs and the roofline model
    seconds: time limit [s]
    layers:  names of the layers with a * for the number, such as "h.*"; "": found from the names of the ops
    Ctrl-C raises KeyboardInterrupt. Throws InputError, for example if no degrees divide the batch.
    """
    compiled = _compiled()
    given = list(graphs) if isinstance(graphs, Sequence) and not isinstance(graphs, str) else [graphs]
    read = [compiled.Graph(graph) if isinstance(graph, str) else graph for graph in given]
    if sizes is None:
        sizes = [_size(graph) for graph in read]
    if len(sizes) != len(read):
        raise compiled.InputError(f"sizes: has {len(sizes)} numbers, expected {len(read)}")
    for name, number in (("batch", batch), *((f"sizes[{place}]", size) for place, size in enumerate(sizes))):
        if number < 1:
            raise compiled.InputError(f"{name}: got {number}, expected a number above 0")
    found = compiled.search_plans_with(read, list(sizes), cluster, batch, costs or "", seconds, semantics, layers)
    told = json.loads(found["json"])
    usual = {name: None if record is None else _found(record, *found["usual"][name])
             for name, record in told["usual"].items()}
    plans = [_found(record, *plan) for record, plan in zip(told["plans"], found["plans"], strict=True)]
    return FoundPlans(plans, usual, told["bound_ns"], told["complete"], told["verdict"],
                      None if found["best"] is None else BestPlan(**found["best"]))


def _size(graph: Graph) -> int:
    size = graph.source.get("batch")
    if not isinstance(size, int):
        raise _compiled().InputError(f"{graph.name}: source.batch is missing; give the samples of its micro-batch as "
                                     "sizes")
    return size


def _found(record: Mapping[str, Any], text: str, graph: int) -> FoundPlan:
    stages = [[(stage["device"], stage["layers"]) for stage in replica] for replica in record["stages"]]
    return FoundPlan(Plan.from_yaml(text), graph, record["ranks"], record["micro_batch"], record["num_stages"],
                     record["schedule"], record["virtual_stages"], stages, record["simulated"],
                     record["step_time_ns"], record["peak_bytes"], record["bubble"], record["communication"],
                     record["gap"])
