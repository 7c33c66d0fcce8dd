"""Which names stand for the same work: PyTorch's operator in a trace, and the op of a graph.

A trace has what ran (`aten::cudnn_batch_norm`), a graph what was recorded
(`aten._native_batch_norm_legit_functional`). Both belong to one family, here `batch_norm`.
"""

from __future__ import annotations

import re

from ..importers.traces import aten

_FAMILIES = {
    "batch_norm": "native_batch_norm cudnn_batch_norm miopen_batch_norm _batch_norm_impl_index "
                  "_native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training "
                  "_batch_norm_with_update _batch_norm_with_update_functional _batch_norm_no_update",
    "batch_norm_backward": "native_batch_norm_backward cudnn_batch_norm_backward miopen_batch_norm_backward "
                           "_batch_norm_impl_index_backward",
    "convolution": "_convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
                   "convolution_overrideable cudnn_convolution mkldnn_convolution miopen_convolution thnn_conv2d "
                   "_conv_depthwise2d",
    "copy": "clone contiguous _to_copy",
    "cross_entropy": "cross_entropy_loss",
    "dropout": "native_dropout _fused_dropout feature_dropout",
    "dropout_backward": "native_dropout_backward _masked_scale",
    "embedding_backward": "embedding_dense_backward",
    "group_norm": "native_group_norm",
    "group_norm_backward": "native_group_norm_backward",
    "layer_norm": "native_layer_norm",
    "layer_norm_backward": "native_layer_norm_backward",
    "log_softmax": "_log_softmax",
    "max_pool2d": "max_pool2d_with_indices",
    "max_pool2d_backward": "max_pool2d_with_indices_backward",
    "nll_loss": "nll_loss_forward nll_loss_nd",
    "nll_loss2d": "nll_loss2d_forward",
    "rms_norm": "_fused_rms_norm",
    "rms_norm_backward": "_fused_rms_norm_backward",
    "softmax": "_softmax",
    "transpose": "t numpy_T mT",
    "view": "_unsafe_view _reshape_alias alias flatten reshape squeeze unflatten unsqueeze view_as reshape_as",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}
_ATTENTION = re.compile(r"_?scaled_dot_product(_fused|_flash|_efficient|_cudnn)?_attention(_math)?"
                        r"(_for_cpu|_for_mps)?(_overrideable)?(?P<backward>_backward)?")
# They change no memory, or copy it: which of both, only what they call tells.
_SOMETIMES_COPY = frozenset("reshape flatten contiguous to type_as view_as reshape_as expand_as unflatten".split())
# Classes of parameters' updates -> kinds of ops that graphs have for them.
OPTIMIZERS = {"SGD": ("optimizer.sgd", "optimizer.momentum"), "Adam": ("optimizer.adam",),
              "AdamW": ("optimizer.adamw",)}


def family(name: str) -> str:
    """The family of a plain name: `batch_norm` of "native_batch_norm"."""
    match = _ATTENTION.fullmatch(name)
    if match:
        return "attention_backward" if match["backward"] else "attention"
    return _FAMILY_OF.get(name, name)


def family_of_call(name: str) -> str:
    """The family of a traced operator: `relu` of "aten::relu_"."""
    return family(aten.base_name(name))


def family_of_kind(kind: str) -> str:
    """The family of an op's kind: `relu` of "aten.relu"; of a kind that is not PyTorch's the kind."""
    space, dot, name = kind.partition(".")
    if space != "aten" or not dot:
        return kind
    name = name.partition(".")[0]
    return family(name[:-1] if name.endswith("_") and not name.endswith("__") else name)


def sometimes_copies(name: str) -> bool:
    """Whether a traced operator is a view or a copy, as its arguments are."""
    return aten.base_name(name) in _SOMETIMES_COPY


def optimizer_kinds(annotation: str) -> tuple[str, ...]:
    """The kinds of update ops that the range "Optimizer.step#Adam.step" stands for; () if it is of none known."""
    return OPTIMIZERS.get(annotation.partition("#")[2].removesuffix(".step"), ())
