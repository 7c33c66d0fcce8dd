"""ResNet v1.5: He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, Table 1.

"v1.5": the stride of a stage's first block is in its 3x3 convolution, as in common training codes.
Parameters and multiply-adds per image of 224x224, by layers: 50: 25,557,032 and 4.1 G;
101: 44,549,160 and 7.8 G; 152: 60,192,808 and 11.5 G.
"""

from __future__ import annotations

import types

import tensorflow as tf

from emplace.importers.tensorflow.models.layers import (NUM_CLASSES, classifier_loss, conv_bn_relu, dense,
                                                        image_inputs, tf1)

DECAY = 1e-4
# Blocks of each stage, by layers.
BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
# (width of the 3x3 convolution, stride of the first block) of each stage
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


def _bottleneck(x: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    """Applies 1x1, 3x3 and 1x1 convolutions with a shortcut.

    The shortcut is a 1x1 convolution if the shape changes.
    """
    filters = 4 * width
    shortcut = x
    if stride != 1 or int(x.shape[-1]) != filters:
        shortcut = conv_bn_relu(x, "shortcut", filters, 1, stride, decay=DECAY, relu=False)
    y = conv_bn_relu(x, "a", width, 1, decay=DECAY)
    y = conv_bn_relu(y, "b", width, 3, stride, decay=DECAY)
    y = conv_bn_relu(y, "c", filters, 1, decay=DECAY, relu=False)
    return tf.nn.relu(tf.add(y, shortcut))


def build(options: types.SimpleNamespace) -> tf.Tensor:
    """Builds forward pass and loss of `options.depth` layers for `options.batch` images."""
    x, labels = image_inputs(options.batch, 224)
    x = conv_bn_relu(x, "conv1", 64, 7, 2, decay=DECAY)
    x = tf.nn.max_pool2d(x, 3, 2, "SAME", name="pool1")
    for stage, (blocks, (width, stride)) in enumerate(zip(BLOCKS[options.depth], STAGES), 2):
        for block in range(blocks):
            with tf1.variable_scope(f"stage{stage}/block{block}"):
                x = _bottleneck(x, width, stride if block == 0 else 1)
    x = tf.reduce_mean(x, [1, 2], name="pool5")
    return classifier_loss(labels, [(dense(x, "logits", NUM_CLASSES, DECAY), 1.0)])
