"""Inception-V3: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016.

The layer widths are those of the authors' released model. Batch normalisation has scale and offset:
23,834,568 parameters, with the auxiliary head 27,161,264; 5.7 G multiply-adds per image of 299x299.
"""

from __future__ import annotations

import functools
import types

import tensorflow as tf

from emplace.importers.tensorflow.models.layers import (NUM_CLASSES, classifier_loss, conv_bn_relu, dense,
                                                        image_inputs, tf1)

DECAY = 4e-5
AUX_WEIGHT = 0.4
_conv = functools.partial(conv_bn_relu, decay=DECAY)


def _chain(x: tf.Tensor, scope: str, *layers: tuple) -> tf.Tensor:
    """Returns a branch: convolutions (filters, kernel[, stride, padding]) one after another."""
    with tf1.variable_scope(scope):
        for index, layer in enumerate(layers):
            x = _conv(x, f"conv{index}", *layer)
    return x


def _pooled(x: tf.Tensor, filters: int) -> tf.Tensor:
    """Returns the pooling branch: 3x3 average at stride 1, then 1x1."""
    with tf1.variable_scope("pool"):
        return _conv(tf.nn.avg_pool2d(x, 3, 1, "SAME"), "conv0", filters, 1)


def _block35(x: tf.Tensor, pool_filters: int) -> tf.Tensor:
    return tf.concat([_chain(x, "b1x1", (64, 1)),
                      _chain(x, "b5x5", (48, 1), (64, 5)),
                      _chain(x, "b3x3dbl", (64, 1), (96, 3), (96, 3)),
                      _pooled(x, pool_filters)], 3)


def _reduce35(x: tf.Tensor) -> tf.Tensor:
    return tf.concat([_chain(x, "b3x3", (384, 3, 2, "VALID")),
                      _chain(x, "b3x3dbl", (64, 1), (96, 3), (96, 3, 2, "VALID")),
                      tf.nn.max_pool2d(x, 3, 2, "VALID")], 3)


def _block17(x: tf.Tensor, width: int) -> tf.Tensor:
    return tf.concat([_chain(x, "b1x1", (192, 1)),
                      _chain(x, "b7x7", (width, 1), (width, (1, 7)), (192, (7, 1))),
                      _chain(x, "b7x7dbl", (width, 1), (width, (7, 1)), (width, (1, 7)),
                             (width, (7, 1)), (192, (1, 7))),
                      _pooled(x, 192)], 3)


def _reduce17(x: tf.Tensor) -> tf.Tensor:
    return tf.concat([_chain(x, "b3x3", (192, 1), (320, 3, 2, "VALID")),
                      _chain(x, "b7x7x3", (192, 1), (192, (1, 7)), (192, (7, 1)),
                             (192, 3, 2, "VALID")),
                      tf.nn.max_pool2d(x, 3, 2, "VALID")], 3)


def _block8(x: tf.Tensor) -> tf.Tensor:
    def fan(y: tf.Tensor, scope: str) -> tf.Tensor:
        with tf1.variable_scope(scope):
            return tf.concat([_conv(y, "a", 384, (1, 3)), _conv(y, "b", 384, (3, 1))], 3)

    return tf.concat([_chain(x, "b1x1", (320, 1)),
                      fan(_chain(x, "b3x3", (384, 1)), "b3x3_fan"),
                      fan(_chain(x, "b3x3dbl", (448, 1), (384, 3)), "b3x3dbl_fan"),
                      _pooled(x, 192)], 3)


def _auxiliary(x: tf.Tensor) -> tf.Tensor:
    """Returns logits from the last 17x17 grid."""
    x = tf.nn.avg_pool2d(x, 5, 3, "VALID")
    x = _conv(x, "conv0", 128, 1)
    x = _conv(x, "conv1", 768, 5, 1, "VALID")
    return dense(tf.reshape(x, [int(x.shape[0]), 768]), "logits", NUM_CLASSES, DECAY)


def build(options: types.SimpleNamespace) -> tf.Tensor:
    """Builds forward pass and loss for `options.batch` images; `options.aux`: with the auxiliary head."""
    x, labels = image_inputs(options.batch, 299)
    x = _conv(x, "stem0", 32, 3, 2, "VALID")
    x = _conv(x, "stem1", 32, 3, 1, "VALID")
    x = _conv(x, "stem2", 64, 3)
    x = tf.nn.max_pool2d(x, 3, 2, "VALID", name="stem_pool0")
    x = _conv(x, "stem3", 80, 1, 1, "VALID")
    x = _conv(x, "stem4", 192, 3, 1, "VALID")
    x = tf.nn.max_pool2d(x, 3, 2, "VALID", name="stem_pool1")
    cells = [("mixed35_%d" % i, functools.partial(_block35, pool_filters=filters))
             for i, filters in enumerate((32, 64, 64))]
    cells += [("reduce35", _reduce35)]
    cells += [("mixed17_%d" % i, functools.partial(_block17, width=width))
              for i, width in enumerate((128, 160, 160, 192))]
    for scope, cell in cells:
        with tf1.variable_scope(scope):
            x = cell(x)
    heads = []
    if options.aux:
        with tf1.variable_scope("aux"):
            heads.append((_auxiliary(x), AUX_WEIGHT))
    for scope, cell in (("reduce17", _reduce17), ("mixed8_0", _block8), ("mixed8_1", _block8)):
        with tf1.variable_scope(scope):
            x = cell(x)
    x = tf.reduce_mean(x, [1, 2], name="pool")
    x = tf.nn.dropout(x, rate=0.2, name="dropout")
    heads.insert(0, (dense(x, "logits", NUM_CLASSES, DECAY), 1.0))
    return classifier_loss(labels, heads)
