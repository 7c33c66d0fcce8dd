"""PyTorch's operators by their names: those made of others, the arguments they write, their work [FLOP].

As in `emplace import --from torch`, products, convolutions and attention have FLOPs (a multiply-add
counts two). The cost of other ops comes from their bytes.
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable, Sequence

from ..dtypes import dtype_name
from . import collectives

# Operators that only call others; the called operators become ops.
COMPOSITE = frozenset("""
    _batch_norm_impl_index _pad_enum adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d avg_pool1d batch_norm
    binary_cross_entropy_with_logits broadcast_tensors chunk conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d contiguous cosine_similarity cross_entropy_loss dropout einsum expand_as feature_dropout flatten
    group_norm gru gru_cell instance_norm layer_norm linear log_softmax lstm lstm_cell matmul max_pool1d max_pool2d
    max_pool3d meshgrid narrow nll_loss nll_loss2d nll_loss_nd pad reshape reshape_as rms_norm rnn_relu
    rnn_tanh scaled_dot_product_attention softmax tensor_split to to_dense type_as unflatten upsample_nearest view_as
    """.split())
# Operators whose schema does not declare the arguments they write: positions of these.
SILENT_WRITES = {"native_batch_norm": (3, 4), "cudnn_batch_norm": (3, 4), "miopen_batch_norm": (3, 4)}
_TRAINING = {"native_batch_norm": 5, "cudnn_batch_norm": 5, "miopen_batch_norm": 5}
# Arguments that are weights, and arguments that are running statistics.
WEIGHTS = {"addmm": (0, 2), "convolution": (1, 2), "embedding": (0,), "native_layer_norm": (2, 3),
           "native_group_norm": (1, 2), "native_batch_norm": (1, 2), "cudnn_batch_norm": (1, 2)}
STATISTICS = SILENT_WRITES
# Products whose work does not follow from the shapes of a trace.
_UNKNOWN_WORK = ("_cudnn_rnn", "mkldnn_rnn_layer", "miopen_rnn", "_scaled_mm", "_fft", "_int_mm", "cdist",
                 "_embedding_bag")
# Names of C++ that are no names of PyTorch.
DTYPES = {"long int": "i64", "short int": "i16", "signed char": "i8", "unsigned char": "u8",
          "c10::complex<float>": "c64", "c10::complex<double>": "c128"}


def is_operator(name: str) -> bool:
    """Returns whether a recorded name is that of an operator, not of a range, an autograd node, a module."""
    space, colons, rest = name.partition("::")
    return bool(colons) and bool(rest) and " " not in name and space.isidentifier() \
        and space not in ("autograd", "torch", "nccl", "profiler")


def base_name(name: str) -> str:
    """Returns `add` for aten::add_ and aten::add; `c10d.allreduce` for c10d::allreduce_.

    Other nodes are `autograd.AddmmBackward0`, `call.triton_poi_fused_add_0`.
    """
    if not is_operator(name):
        of_autograd = name.startswith(("autograd::", "torch::autograd::")) or "Backward" in name
        last = re.split(r": |<", name)[-1] if of_autograd else name
        return ("autograd." if of_autograd else "call.") + (re.sub(r"\W+", "_", last.split("::")[-1]).strip("_") or "_")
    space, _, rest = name.partition("::")
    rest = rest[:-1] if rest.endswith("_") and not rest.endswith("__") else rest
    return rest if space == "aten" else f"{space}.{rest}"


def kind(name: str) -> str:
    """Returns the kind of the op: aten.add, as the importer of PyTorch models names it."""
    base = base_name(name)
    return base if "." in base else f"aten.{base}"


def dtype(text: str) -> str:
    """Returns `f32` for "Tensor(float)" or "float"; "" for types without a name in graph files."""
    inner = text.removeprefix("Tensor(").removesuffix(")").strip()
    return DTYPES.get(inner.lower()) or dtype_name(inner) or ""


def written_arguments(name: str, schema: str, values: Sequence[Any]) -> set[int]:
    """Returns the positions of the arguments that the call writes: by its schema, else by the name."""
    base = base_name(name)
    if collectives.of_operator(name):
        return set() if collectives.of_operator(name) in ("send", "barrier") else {0}
    silent = SILENT_WRITES.get(base, ())
    if silent and len(values) > _TRAINING[base] and values[_TRAINING[base]] in (False, 0, "False"):
        silent = ()
    if "(" in schema:
        arguments = _split(schema[schema.index("(") + 1:schema.rindex("->")])
        return {index for index, argument in enumerate(arg for arg in arguments if arg.strip() != "*")
                if "!" in argument} | set(silent)
    return ({0} if name.endswith("_") and not name.endswith("__") else set()) | set(silent)


def _split(arguments: str) -> list[str]:
    """Returns the arguments of a schema, split at commas outside of brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


Shape = Sequence[int]


def flops(name: str, inputs: Sequence[Shape | None], values: Sequence[Any], output: Shape | None) -> int | None:
    """Returns the work of one call [FLOP]; None: there is work, but its amount is unknown.

    inputs: the shape of each argument that is a tensor, else None; values: the arguments that are not
    tensors at their positions; output: shape of the first result.
    """
    base = base_name(name)
    formula = _FORMULAS.get(base)
    if formula is None:
        return None if base.startswith(_UNKNOWN_WORK) else 0
    try:
        return int(formula(inputs, values, output))
    except (TypeError, IndexError):  # the trace lacks the shapes of this call
        return None


def _mm(first: int) -> Callable[..., int]:
    """Returns the rule for [.., m, k] x [.., k, n]: 2 m n k each; `first`: position of the first factor."""
    return lambda i, v, o: 2 * math.prod(i[first]) * i[first + 1][-1]


def _convolution(i: Sequence[Any], v: Sequence[Any], o: Any) -> int:
    """Counts a convolution: each output element (transposed: input element) takes the weights' multiply-adds.

    Weights are [filters, channels / groups, window].
    """
    grid = i[0] if len(v) > 6 and v[6] in (True, "True") else o or _convolved(i, v)
    return 2 * math.prod(grid) * math.prod(i[1][1:])


def _convolved(i: Sequence[Any], v: Sequence[Any]) -> list[int]:
    """Returns the result's shape: (x, w, b, stride, padding, dilation, ...), images [n, c, ...]."""
    sizes = [(size + 2 * pad - dilation * (window - 1) - 1) // stride + 1
             for size, window, stride, pad, dilation in zip(i[0][2:], i[1][2:], v[3], v[4], v[5])]
    return [i[0][0], i[1][0], *sizes]


def _convolution_backward(i: Sequence[Any], v: Sequence[Any], o: Any) -> int:
    """Counts as much as the convolution for each of the gradients of input and weights.

    Arguments: (dy, x, w, ...).
    """
    wanted = v[10] if len(v) > 10 and isinstance(v[10], (list, tuple)) else [True, True]
    grid = i[1] if len(v) > 7 and v[7] in (True, "True") else i[0]
    return sum(map(bool, wanted[:2])) * 2 * math.prod(grid) * math.prod(i[2][1:])


def _attention(i: Sequence[Any], v: Sequence[Any], o: Any) -> int:
    """Counts attention: q [.., s, d], k [.., t, d], v [.., t, e]: scores 2 s t d, sums 2 s t e."""
    return 2 * math.prod(i[0][:-1]) * i[1][-2] * (i[0][-1] + i[2][-1])


def _attention_backward(i: Sequence[Any], v: Sequence[Any], o: Any) -> int:
    """Counts the scores once more, and the gradients of scores, v, q, k: three of d, two of e.

    Arguments: (dy, q, k, v).
    """
    return 2 * math.prod(i[1][:-1]) * i[2][-2] * (3 * i[1][-1] + 2 * i[3][-1])


_ATTENTIONS = ("flash", "efficient", "cudnn", "fused")
_FORMULAS: dict[str, Callable[..., int]] = {
    "mm": _mm(0), "bmm": _mm(0), "addmm": _mm(1), "baddbmm": _mm(1), "addbmm": _mm(1), "_addmm_activation": _mm(1),
    "mv": lambda i, v, o: 2 * math.prod(i[0]), "dot": lambda i, v, o: 2 * math.prod(i[0]),
    "addmv": lambda i, v, o: 2 * math.prod(i[1]), "linear": lambda i, v, o: 2 * math.prod(i[0]) * i[1][0],
    "matmul": lambda i, v, o: 2 * math.prod(i[0]) * i[1][-1],
    "convolution": _convolution, "_convolution": _convolution, "convolution_overrideable": _convolution,
    "conv1d": lambda i, v, o: _convolution(i, (), o), "conv2d": lambda i, v, o: _convolution(i, (), o),
    "conv3d": lambda i, v, o: _convolution(i, (), o), "convolution_backward": _convolution_backward,
    "scaled_dot_product_attention": _attention,
    **{f"_scaled_dot_product_{a}_attention{cpu}": _attention for a in _ATTENTIONS for cpu in ("", "_for_cpu")},
    **{f"_scaled_dot_product_{a}_attention{cpu}_backward": _attention_backward
       for a in _ATTENTIONS for cpu in ("", "_for_cpu")}}
