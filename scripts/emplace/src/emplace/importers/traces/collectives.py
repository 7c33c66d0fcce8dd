"""Collectives in traces: their ranges, kernels and recorded figures under the names of one set.

PyTorch records a collective as c10d::allreduce_ > record_param_comms > nccl:all_reduce, older versions without the
first. Since 2.3 record_param_comms and the kernels say more (`Collective name`, `In msg nelems`, `Process Group Name`).
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

_RANGE = re.compile(r"(nccl|rccl|gloo|ucc|mpi|xccl|hccl):([\w ].*)")
_KERNEL = re.compile(r"(?:nccl|rccl|mscclpp|onccl)(?:Dev)?Kernel_?([A-Za-z]*)")
# Kernels that read the memory of the other GPUs: of PyTorch's symmetric memory, and of vLLM, whose reduce is all_reduce.
_DIRECT = re.compile(r"(?:void )?(?:(?:\w+|\(anonymous namespace\))::)*"
                     r"(?:(?:multimem|(?:one|two)_shot)_(\w+)|cross_device_reduce_\dstage)")
_SPACES = ("c10d", "_c10d_functional", "c10d_functional")
_OWN_SPACES = ("vllm", "_C_custom_ar")  # with other operators in them
PARAMETERS = "record_param_comms"
# The first that is part of a name, without its signs, decides.
_NAMES = (("reducescatter", "reduce_scatter"), ("allreduce", "all_reduce"), ("allgather", "all_gather"),
          ("alltoall", "all_to_all"), ("sendrecv", "send_recv"), ("broadcast", "broadcast"), ("barrier", "barrier"),
          ("reduce", "reduce"), ("gather", "gather"), ("scatter", "scatter"), ("send", "send"), ("recv", "recv"))
POINT_TO_POINT = ("send", "recv", "send_recv")
_BYTES = {"char": 1, "int8": 1, "byte": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "half": 2,
          "float16": 2, "bfloat16": 2, "short": 2, "int": 4, "int32": 4, "float": 4, "float32": 4, "long": 8,
          "int64": 8, "double": 8, "float64": 8}


def name_of(text: str) -> str:
    """Returns all_reduce for allreduce_, _allreduce_coalesced, AllReduce; "" for a text that names no collective."""
    letters = re.sub(r"[^a-z]", "", text.lower())
    return next((name for part, name in _NAMES if part in letters), "")


def is_range(name: str) -> bool:
    """Returns whether it is the range of a communication library, such as nccl:all_reduce."""
    return _RANGE.match(name) is not None


def of_range(name: str) -> str:
    match = _RANGE.match(name)
    return name_of(match[2]) if match else ""


def of_operator(name: str) -> str:
    """Returns the collective of c10d::allreduce_; "" for other operators, and for those that only wait."""
    space, _, rest = name.partition("::")
    if space in _OWN_SPACES:
        return rest if rest in ("all_reduce", "all_gather", "reduce_scatter") else ""
    return name_of(rest) if space in _SPACES and "wait" not in rest else ""


def is_kernel(name: str) -> bool:
    return bool(_KERNEL.match(name) or _DIRECT.match(name))


def of_kernel(name: str) -> str:
    match = _KERNEL.match(name) or _DIRECT.match(name)
    if match is None:
        return "other"
    return "all_reduce" if match[1] is None else name_of(match[1]) or "other"  # None: cross_device_reduce


def recorded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the figures that an event of record_param_comms or of a kernel has: collective, bytes, group."""
    found: dict[str, Any] = {}
    if isinstance(arguments.get("Collective name"), str):
        found["collective"] = name_of(arguments["Collective name"])
    elements = [arguments[key] for key in ("In msg nelems", "Out msg nelems")
                if isinstance(arguments.get(key), int) and arguments[key] > 0]
    size = _BYTES.get(str(arguments.get("dtype")).lower())
    if elements and size:
        found["bytes"] = size * elements[0]
    if arguments.get("Process Group Name") not in (None, ""):
        found["group"] = str(arguments["Process Group Name"])
    if isinstance(arguments.get("Group size"), int) and arguments["Group size"] > 0:
        found["group_size"] = arguments["Group size"]
    if isinstance(arguments.get("Process Group Ranks"), (str, list)) and arguments["Process Group Ranks"]:
        found["ranks"] = str(arguments["Process Group Ranks"])
    return found


def of_arguments(values: Sequence[Any]) -> dict[str, Any]:
    """Returns collective and group of a call of record_param_comms in an execution trace.

    Its arguments are: tensor, number, (group, its description), rank, collective, sizes. Before PyTorch 2.3, the group
    is an address and is left out.
    """
    found: dict[str, Any] = {}
    for value in values:
        if isinstance(value, str) and name_of(value):
            found["collective"] = name_of(value)
        elif isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(text, str) for text in value):
            found["group"] = value[0]
    return found
