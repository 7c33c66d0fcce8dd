"""Work [FLOP] and bytes [B] of one aten call, and the arguments that its kernel needs.

FLOP come from PyTorch's own registry (`torch.utils.flop_counter`, a multiply-add counts as two), which covers
products, convolutions and attention. For the gradient of a convolution's weights the registry ignores groups,
so the gradients of a convolution are counted here. Every other op counts 0 FLOP; its cost comes from its bytes.
"""

from __future__ import annotations

import logging
import math
from typing import Any, Iterable, Iterator, Mapping, Sequence

import torch

# Suppresses "triton not found", and tracebacks of errors that `explain` explains.
logging.getLogger("torch.utils.flop_counter").setLevel(logging.ERROR)
logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
from torch.utils import flop_counter  # noqa: E402

from emplace.importers.dtypes import dtype_name  # noqa: E402

# Ops that only reserve memory.
_ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
# Ops that write their output without reading a tensor.
_FILLS = {"zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "new_zeros",
          "new_ones", "new_full", "zero", "fill", "bernoulli", "uniform", "normal"}
# Ops that read single elements or rows of an argument, as many as they write.
_GATHERS = {"embedding": "weight", "index_select": "self", "gather": "self", "index": "self"}
# Arguments of which an op reads the shape, or a negligible part, but not the elements.
_UNREAD = {"nll_loss_forward": "self", "nll_loss_backward": "self", "copy": "self",
           "nll_loss2d_forward": "self", "nll_loss2d_backward": "self",
           "avg_pool2d_backward": "self", "max_pool2d_with_indices_backward": "self"}
# Arguments that describe the layout and place of memory, not the computation.
_PLACE_TYPES = (torch.device, torch.layout, torch.memory_format)
_PLACE_NAMES = {"pin_memory", "non_blocking"}


def op_name(func: torch._ops.OpOverload) -> str:
    """Returns `convolution` for aten::convolution; `relu` for aten::relu_, whose output is an alias."""
    name = func._schema.name.split("::")[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def arguments(func: torch._ops.OpOverload, args: Sequence[Any],
              kwargs: Mapping[str, Any]) -> list[tuple[torch._C.Argument, Any]]:
    """Returns each given argument with its place in the op's schema."""
    schema = func._schema.arguments
    return [*zip(schema, args), *((a, kwargs[a.name]) for a in schema if a.name in kwargs)]


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yields the tensors in an argument or result, in order; handles lists and None."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def attributes(given: Iterable[tuple[torch._C.Argument, Any]]) -> dict[str, Any]:
    """Returns the arguments that are not tensors, by their schema names, as JSON values."""
    found = {}
    for argument, value in given:
        place = isinstance(value, _PLACE_TYPES) or argument.name in _PLACE_NAMES
        if value is not None and not place and not [*tensors_in(value)]:
            found[argument.name] = _json(value)
    return found


def _json(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return dtype_name(str(value)) or str(value)
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)  # "-inf": JSON has no such number


def nbytes(tensor: torch.Tensor) -> int:
    """Returns the bytes of the elements according to the shape [B]."""
    return tensor.numel() * tensor.element_size()


def distinct_bytes(tensor: torch.Tensor) -> int:
    """Returns the bytes that differ in memory [B]: an expanded dimension (stride 0) counts once."""
    sizes = (size for size, stride in zip(tensor.shape, tensor.stride()) if stride or not size)
    return math.prod(sizes) * tensor.element_size()


def traffic(name: str, given: Sequence[tuple[torch._C.Argument, Any]],
            outputs: Sequence[torch.Tensor]) -> int:
    """Returns the bytes read and written [B]: each input once, plus the outputs, except as the tables above state."""
    if name in _ALLOCATIONS:
        return 0
    written = sum(map(nbytes, outputs))
    if name in _FILLS:
        return written
    read, seen = 0, set()
    for argument, value in given:
        for tensor in tensors_in(value):
            if id(tensor) in seen or _UNREAD.get(name) == argument.name:
                continue
            seen.add(id(tensor))
            gathered = _GATHERS.get(name) == argument.name
            read += nbytes(outputs[0]) if gathered else distinct_bytes(tensor)
    return read + written


def flops(func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any],
          result: Any) -> int | None:
    """Returns the FLOP of one call; None if PyTorch's registry does not know the op."""
    name = op_name(func)
    if name == "convolution_backward":  # each gradient counts as much as the convolution
        output, image, weight = (tensor.shape for tensor in args[:3])
        transposed, wanted = args[7], args[10]
        return int(sum(wanted[:2]) * flop_counter.conv_flop_count(image, weight, output, transposed))
    formula = flop_counter.flop_registry.get(func.overloadpacket)
    if formula is not None:
        return int(formula(*args, **kwargs, out_val=result))
    # The registry lacks the CPU's fused attention.
    if name == "_scaled_dot_product_flash_attention_for_cpu":
        return int(flop_counter.sdpa_flop_count(*(t.shape for t in args[:3])))
    if name == "_scaled_dot_product_flash_attention_for_cpu_backward":
        return int(flop_counter.sdpa_backward_flop_count(*(t.shape for t in args[:4])))
    if name == "_grouped_mm":
        return _grouped_mm_flops(args[0].shape, args[1].shape)
    return None


def _grouped_mm_flops(a: Sequence[int], b: Sequence[int]) -> int:
    """Returns the FLOP of a grouped product, in which each row (2-d) or matrix (3-d) belongs to one group.

    The number of rows of a group does not matter: [rows, k] x [groups, k, n], [m, k] x [k, n] with k divided,
    [groups, m, k] x [k, columns], or [groups, m, k] x [groups, k, n].
    """
    return 2 * math.prod(a if len(b) == 3 else a[-2:]) * b[-1]
