"""Image classifiers of ENAS's micro search space: the family cifar10.

As in the public code of ENAS: a 3x3 stem of 3 * filters channels; three stages of `cells` normal cells, with a
reduction cell before the second and the third, which halves height and width and doubles the filters; rectifier, global
average, softmax over 10 classes. Our choices: the last cell's output is projected once (in ENAS twice), and there are
no auxiliary heads, drop path, dropout and weight decay.
"""

from __future__ import annotations

import types

import tensorflow as tf

from families.architectures import ConvolutionalNode, convolutional_ends, parse_convolutional
from emplace.importers.tensorflow.models.layers import (batch_norm, classifier_loss, conv, dense, image_inputs,
                              separable_conv, tf1)

IMAGE_SIZE, CLASSES, STAGES = 32, 10, 3


def _separable(x: tf.Tensor, filters: int, kernel: int, stride: int) -> tf.Tensor:
    """Applies twice (rectifier, separable convolution, batch normalisation); the first one has the stride."""
    for index, step in enumerate((stride, 1)):
        with tf1.variable_scope(f"sep{index}"):
            x = batch_norm(separable_conv(tf.nn.relu(x), filters, kernel, step))
    return x


def _project(x: tf.Tensor, scope: str, filters: int) -> tf.Tensor:
    with tf1.variable_scope(scope):
        return batch_norm(conv(tf.nn.relu(x), filters, 1))


def _halve(x: tf.Tensor, scope: str, filters: int) -> tf.Tensor:
    """Applies a factorised reduction: two shifted subsamplings, each with a 1x1 convolution, side by side."""
    with tf1.variable_scope(scope):
        shifted = tf.pad(x, [[0, 0], [0, 1], [0, 1], [0, 0]])[:, 1:, 1:, :]
        paths = []
        for index, path in enumerate((x, shifted)):
            with tf1.variable_scope(f"path{index}"):
                paths.append(conv(tf.nn.avg_pool2d(path, 1, 2, "VALID"), filters // 2, 1))
        return batch_norm(tf.concat(paths, 3))


def _apply(op: str, x: tf.Tensor, scope: str, filters: int, stride: int) -> tf.Tensor:
    with tf1.variable_scope(scope):
        if op == "id":
            return x if stride == 1 else _halve(x, "halve", filters)
        if op in ("sep3", "sep5"):
            return _separable(x, filters, int(op[3:]), stride)
        pool = {"avg3": tf.nn.avg_pool2d, "max3": tf.nn.max_pool2d}[op]
        return pool(x, 3, stride, "SAME")


def _calibrate(p: tf.Tensor, x: tf.Tensor, filters: int) -> tf.Tensor:
    """Brings `p` to the height and width of `x` and to `filters` channels."""
    if p.shape[1] != x.shape[1]:
        return _halve(tf.nn.relu(p), "calibrate", filters)
    return p if int(p.shape[-1]) == filters else _project(p, "calibrate", filters)


def _cell(p: tf.Tensor, x: tf.Tensor, cell: list[ConvolutionalNode], filters: int,
          stride: int) -> tf.Tensor:
    """Builds a cell. p, x: outputs of the last two cells. Loose ends are concatenated, as in ENAS."""
    values = [_calibrate(p, x, filters), _project(x, "begin", filters)]
    for index, (left, left_op, right, right_op) in enumerate(cell):
        with tf1.variable_scope(f"node{index}"):
            halves = [_apply(op, values[value], side, filters, stride if value < 2 else 1)
                      for value, op, side in ((left, left_op, "x"), (right, right_op, "y"))]
            values.append(tf.add(*halves, name="sum"))
    ends = []
    for value in convolutional_ends(cell):
        end = values[value]
        if end.shape[1] != values[-1].shape[1]:  # an input of a reduction cell that no node reads
            end = _halve(end, f"end{value}", filters)
        ends.append(end)
    return ends[0] if len(ends) == 1 else tf.concat(ends, 3, name="ends")


def build(options: types.SimpleNamespace) -> tf.Tensor:
    """Builds forward pass and loss; options as `architectures.draw_cifar10` draws them."""
    normal, reduction = map(parse_convolutional, (options.normal, options.reduction))
    images, labels = image_inputs(options.batch, IMAGE_SIZE)
    with tf1.variable_scope("stem"):
        x = batch_norm(conv(images, 3 * options.filters, 3))
    p = x
    for stage in range(STAGES):
        filters = options.filters * 2 ** stage
        if stage > 0:
            with tf1.variable_scope(f"reduce{stage}"):
                x, p = _cell(p, x, reduction, filters, 2), x
        for index in range(options.cells):
            with tf1.variable_scope(f"stage{stage}/cell{index}"):
                x, p = _cell(p, x, normal, filters, 1), x
    x = tf.reduce_mean(tf.nn.relu(x), [1, 2], name="pool")
    return classifier_loss(labels, [(dense(x, "logits", CLASSES), 1.0)])
