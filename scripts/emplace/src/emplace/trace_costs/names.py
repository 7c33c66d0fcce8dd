"""Names that mean the same work: PyTorch's operator in a trace, and the op of a graph.

A trace has the operator that ran (`aten::cudnn_batch_norm`), a graph the recorded one
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
# They return a view or a copy; only the calls inside reveal which.
_SOMETIMES_COPY = frozenset("reshape flatten contiguous to type_as view_as reshape_as expand_as unflatten".split())
# Classes of optimisers -> kinds of their update ops in graphs.
OPTIMIZERS = {"SGD": ("optimizer.sgd", "optimizer.momentum"), "Adam": ("optimizer.adam",),
              "AdamW": ("optimizer.adamw",)}


def family(name: str) -> str:
    """Returns the family of a plain name: `batch_norm` for "native_batch_norm"."""
    match = _ATTENTION.fullmatch(name)
    if match:
        return "attention_backward" if match["backward"] else "attention"
    return _FAMILY_OF.get(name, name)


def family_of_call(name: str) -> str:
    """Returns the family of a traced operator: `relu` for "aten::relu_"."""
    return family(aten.base_name(name))


def family_of_kind(kind: str) -> str:
    """Returns the family of an op's kind: `relu` for "aten.relu"; the kind itself if it is not PyTorch's."""
    space, dot, name = kind.partition(".")
    if space != "aten" or not dot:
        return kind
    name = name.partition(".")[0]
    return family(name[:-1] if name.endswith("_") and not name.endswith("__") else name)


def sometimes_copies(name: str) -> bool:
    """Returns whether a traced operator is a view or a copy depending on its arguments."""
    return aten.base_name(name) in _SOMETIMES_COPY


def optimizer_kinds(annotation: str) -> tuple[str, ...]:
    """Returns the kinds of update ops for the range "Optimizer.step#Adam.step"; () for an unknown optimiser."""
    return OPTIMIZERS.get(annotation.partition("#")[2].removesuffix(".step"), ())
