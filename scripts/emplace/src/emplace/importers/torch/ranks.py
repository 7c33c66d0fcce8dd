"""One rank of a parallel step: the collectives that it calls, and its part of each tensor.

A model that `parallelize_module`, DTensor or `fully_shard` divides among ranks runs in a fake process group, as rank 0.
Such a group has all ranks but sends nothing, so one process is sufficient. All ranks do the same on parts of equal
sizes, and the graph of one rank stands for all.

The calls of `_c10d_functional` (DTensor) and of `c10d` (fully_shard) become ops of kind `collective.all_reduce` and so
on, which run on devices of class network. Their attributes are the ranks of the group and its size. The graph has no
op for `wait_tensor`: the readers of a result wait for the collective.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterable, Iterator, Sequence
from unittest import mock

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import _disable_current_modes

from .. import ImportFailure
from ..traces import collectives

# What fully_shard copies before and after collectives, with the names of its calls and of the same ops of ATen.
COPIES = {"split_with_sizes_copy": "aten.split_with_sizes_copy", "chunk_cat": "aten._chunk_cat"}
KINDS = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
# The attribute with the tensor of this rank, by type.
INNER = {"DTensor": "_local_tensor", "AsyncCollectiveTensor": "elem"}
_SPACES = ("_c10d_functional", "_c10d_functional_autograd", "c10d")


@contextlib.contextmanager
def world(ranks: int) -> Iterator[None]:
    """Makes this process rank 0 of a fake process group of so many ranks; does nothing for one rank."""
    if ranks == 1:
        yield
        return
    from torch.distributed.tensor._sharding_prop import ShardingPropagator
    from torch.testing._internal.distributed.fake_pg import FakeStore

    infer = ShardingPropagator._propagate_tensor_meta_non_cached

    def unseen(*args: Any) -> Any:
        """Infers the shapes of a whole tensor by calls that are no part of the step."""
        with _disable_current_modes():
            return infer(*args)

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    try:
        with mock.patch.object(ShardingPropagator, "_propagate_tensor_meta_non_cached", unseen):
            yield
    finally:
        dist.destroy_process_group()


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the part of a DTensor that this rank has, the tensor behind a result of a collective, else the tensor."""
    name = INNER.get(type(tensor).__name__)
    return tensor if name is None else local(getattr(tensor, name))


def is_outer(kind: type) -> bool:
    """Returns whether a call with tensors of this type makes calls with local() tensors."""
    return kind.__name__ in INNER


def reduced(parameter: torch.Tensor) -> torch.Tensor:
    """Returns the parameter such that its gradient is divided as the parameter is, by collectives where needed."""
    placements = getattr(parameter, "placements", None)
    return parameter if placements is None else parameter.redistribute(parameter.device_mesh, placements)


def gathers(module: torch.nn.Module) -> bool:
    """Returns whether fully_shard divides parameters of the module, which then gathers them before use."""
    if not dist.is_available() or not dist.is_initialized():
        return False
    from torch.distributed.fsdp import FSDPModule

    return any(isinstance(child, FSDPModule) for child in module.modules())


def is_call(func: torch._ops.OpOverload) -> bool:
    """Returns whether an op communicates, or waits for communication."""
    return func.namespace in _SPACES


def packs(func: torch._ops.OpOverload) -> bool:
    """Returns whether an op copies tensors into the buffer of an all-gather, which counts as a part of it."""
    return func._schema.name == "fsdp::all_gather_copy_in"


def waits(func: torch._ops.OpOverload) -> bool:
    return "wait" in func._schema.name


def kind_of(func: torch._ops.OpOverload) -> str:
    """Returns all_reduce and so on. Throws ValueError for a collective that no graph can have."""
    name = collectives.name_of(func._schema.name.split("::")[-1])
    if name not in KINDS or "coalesced" in func._schema.name:
        raise ValueError(f"a graph has no op for {func}; choices: {', '.join(KINDS)}, of one tensor each")
    return name


def require_equal_parts(module: torch.nn.Module) -> None:
    """Throws ImportFailure for a parameter of which ranks have parts of unequal sizes; fully_shard fills them up."""
    for name, parameter in () if gathers(module) else module.named_parameters():
        for number, placement in enumerate(getattr(parameter, "placements", ())):
            size, shape = parameter.device_mesh.size(number), list(parameter.shape)
            if placement.is_shard() and shape[placement.dim] % size:
                raise ImportFailure(f"parameter {name!r} {shape}: dimension {placement.dim} does not divide among "
                                    f"{size} ranks; all ranks need parts of one size")


def require_collectives(size: int, ops: Iterable[Any]) -> None:
    """Throws ImportFailure if several ranks have nothing to do with each other."""
    if size > 1 and not any(op.kind.startswith("collective.") for op in ops):
        raise ImportFailure(f"--ranks {size}: the step has no collective, so the ranks do not share it; divide the "
                            "module by parallelize_module or fully_shard over "
                            f"torch.distributed.device_mesh.init_device_mesh('cpu', ({size},))")


def attributes(func: torch._ops.OpOverload, given: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """Returns the ranks of the group of a call, and their number.

    `ahead`: fully_shard gathers parameters on a stream that does not wait for the computation.
    """
    for argument, value in given:
        if argument.name in ("group_name", "process_group"):
            group = dist.distributed_c10d._resolve_process_group(value) if isinstance(value, str) else (
                value if isinstance(value, dist.ProcessGroup) else dist.ProcessGroup.unbox(value))
            members = dist.get_process_group_ranks(group)
            ahead = {"ahead": True} if func.namespace == "c10d" and kind_of(func) == "all_gather" else {}
            return {"group_size": len(members), "ranks": members, **ahead}
    raise ValueError(f"a collective without a group: {[argument.name for argument, _ in given]}")
