"""NASNet-A: Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition".

CVPR 2018. mobile: 4 @ 1056, 224x224 images, 5.3 M parameters, 564 M multiply-adds per image; large:
6 @ 4032, 331x331, 88.9 M parameters, 23.8 G multiply-adds. No auxiliary head, no drop path.
A cell reads the outputs of the two cells before it: `x` is that of the last one, `p` that of the one before.
"""

from __future__ import annotations

import dataclasses
import types

import tensorflow as tf

from emplace.importers.tensorflow.models.layers import (NUM_CLASSES, batch_norm, classifier_loss, conv, dense,
                                                        image_inputs, separable_conv, tf1)

DECAY = 4e-5


@dataclasses.dataclass(frozen=True)
class Variant:
    """image [pixels]; penultimate = filters of the last cell's output; blocks = N of the paper."""

    image: int
    penultimate: int
    blocks: int
    stem_filters: int
    skip_reduction: bool  # the cell after a reduction reads the reduction's input as `p`


VARIANTS = {"mobile": Variant(224, 1056, 4, 32, False), "large": Variant(331, 4032, 6, 96, True)}


def _separable(x: tf.Tensor, scope: str, filters: int, kernel: int, stride: int = 1) -> tf.Tensor:
    """Applies twice (relu, separable convolution, batch normalisation); the first one has the stride."""
    with tf1.variable_scope(scope):
        for index, step in enumerate((stride, 1)):
            with tf1.variable_scope(f"sep{index}"):
                x = batch_norm(separable_conv(tf.nn.relu(x), filters, kernel, step, DECAY))
    return x


def _project(x: tf.Tensor, scope: str, filters: int) -> tf.Tensor:
    with tf1.variable_scope(scope):
        return batch_norm(conv(tf.nn.relu(x), filters, 1, decay=DECAY))


def _halve(p: tf.Tensor, filters: int) -> tf.Tensor:
    """Applies a factorised reduction: two shifted subsamplings, each with a 1x1 convolution, side by side."""
    with tf1.variable_scope("adjust"):
        p = tf.nn.relu(p)
        shifted = tf.pad(p, [[0, 0], [0, 1], [0, 1], [0, 0]])[:, 1:, 1:, :]
        paths = []
        for index, path in enumerate((p, shifted)):
            with tf1.variable_scope(f"path{index}"):
                paths.append(conv(tf.nn.avg_pool2d(path, 1, 2, "VALID"), filters // 2, 1,
                                  decay=DECAY))
        return batch_norm(tf.concat(paths, 3))


def _adjust(p: tf.Tensor | None, x: tf.Tensor, filters: int) -> tf.Tensor:
    """Brings `p` to the height and width of `x` and to `filters` channels."""
    if p is None:
        return x
    if p.shape[1] != x.shape[1]:
        return _halve(p, filters)
    return p if int(p.shape[-1]) == filters else _project(p, "adjust", filters)


def _normal_cell(x: tf.Tensor, p: tf.Tensor | None, filters: int) -> tf.Tensor:
    p = _adjust(p, x, filters)
    h = _project(x, "begin", filters)
    return tf.concat([
        p,
        _separable(h, "b1_left", filters, 5) + _separable(p, "b1_right", filters, 3),
        _separable(p, "b2_left", filters, 5) + _separable(p, "b2_right", filters, 3),
        tf.nn.avg_pool2d(h, 3, 1, "SAME") + p,
        tf.nn.avg_pool2d(p, 3, 1, "SAME") + tf.nn.avg_pool2d(p, 3, 1, "SAME"),
        _separable(h, "b5_left", filters, 3) + h], 3)


def _reduction_cell(x: tf.Tensor, p: tf.Tensor | None, filters: int) -> tf.Tensor:
    p = _adjust(p, x, filters)
    h = _project(x, "begin", filters)
    b1 = _separable(h, "b1_left", filters, 5, 2) + _separable(p, "b1_right", filters, 7, 2)
    b2 = tf.nn.max_pool2d(h, 3, 2, "SAME") + _separable(p, "b2_right", filters, 7, 2)
    b3 = tf.nn.avg_pool2d(h, 3, 2, "SAME") + _separable(p, "b3_right", filters, 5, 2)
    b4 = b2 + tf.nn.avg_pool2d(b1, 3, 1, "SAME")
    b5 = _separable(b1, "b5_left", filters, 3) + tf.nn.max_pool2d(h, 3, 2, "SAME")
    return tf.concat([b2, b3, b4, b5], 3)


def build(options: types.SimpleNamespace) -> tf.Tensor:
    """Builds forward pass and loss for `options.batch` images; `options.variant`: mobile or large."""
    variant = VARIANTS[options.variant]
    filters = variant.penultimate // 24
    x, labels = image_inputs(options.batch, variant.image)
    p = None
    with tf1.variable_scope("stem0"):
        x = batch_norm(conv(x, variant.stem_filters, 3, 2, "VALID", DECAY))
    for index, width in enumerate((filters // 4, filters // 2), 1):
        with tf1.variable_scope(f"stem{index}"):
            x, p = _reduction_cell(x, p, width), x
    for stage in range(3):
        width = filters * 2 ** stage
        if stage > 0:
            with tf1.variable_scope(f"reduce{stage}"):
                reduced = _reduction_cell(x, p, width)
            x, p = reduced, p if variant.skip_reduction else x
        for block in range(variant.blocks):
            with tf1.variable_scope(f"stage{stage}/cell{block}"):
                x, p = _normal_cell(x, p, width), x
    x = tf.reduce_mean(tf.nn.relu(x), [1, 2], name="pool")
    return classifier_loss(labels, [(dense(x, "logits", NUM_CLASSES, DECAY), 1.0)])
