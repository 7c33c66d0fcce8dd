"""Layers on `tf.nn` and `tf.compat.v1` variables, with the single ops of TensorFlow 1 graphs.

Images are [batch, height, width, channels] (NHWC), TensorFlow's own layout; sequences are lists
with one [batch, features] tensor per time step. Every layer names its ops by a scope.
"""

from __future__ import annotations

from typing import Sequence

import tensorflow as tf

tf1 = tf.compat.v1
Tensor = tf.Tensor

BATCH_NORM_DECAY = 0.9997
BATCH_NORM_EPSILON = 1e-3
NUM_CLASSES = 1000


def weight(name: str, shape: Sequence[int], decay: float = 0.0) -> Tensor:
    """Returns a trainable variable; `decay` > 0 adds decay * |w|^2 / 2 to the regularisation losses."""
    variable = tf1.get_variable(name, shape, tf.float32, tf1.glorot_uniform_initializer())
    if decay > 0:
        with tf1.name_scope("decay"):
            penalty = tf.multiply(tf.nn.l2_loss(variable), decay)
        tf1.add_to_collection(tf1.GraphKeys.REGULARIZATION_LOSSES, penalty)
    return variable


def bias(name: str, size: int) -> Tensor:
    return tf1.get_variable(name, [size], tf.float32, tf1.zeros_initializer())


def batch_norm(x: Tensor, scope: str = "bn") -> Tensor:
    """Normalises over [batch, height, width]; the moving averages are updated by UPDATE_OPS."""
    channels = int(x.shape[-1])
    with tf1.variable_scope(scope):
        gamma = tf1.get_variable("gamma", [channels], initializer=tf1.ones_initializer())
        beta = bias("beta", channels)
        y, mean, variance = tf1.nn.fused_batch_norm(x, gamma, beta, epsilon=BATCH_NORM_EPSILON)
        for name, batch_value in (("mean", mean), ("variance", variance)):
            average = tf1.get_variable(f"moving_{name}", [channels], trainable=False,
                                       initializer=tf1.zeros_initializer())
            with tf1.name_scope(f"update_{name}"):
                step = tf.multiply(average - batch_value, 1.0 - BATCH_NORM_DECAY)
                tf1.add_to_collection(tf1.GraphKeys.UPDATE_OPS, tf1.assign_sub(average, step).op)
    return y


def conv(x: Tensor, filters: int, kernel: int | tuple[int, int], stride: int = 1,
         padding: str = "SAME", decay: float = 0.0) -> Tensor:
    """Applies a convolution without bias; `kernel` = size or (height, width)."""
    height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
    weights = weight("weights", [height, width, int(x.shape[-1]), filters], decay)
    return tf.nn.conv2d(x, weights, stride, padding)


def separable_conv(x: Tensor, filters: int, kernel: int, stride: int = 1,
                   decay: float = 0.0) -> Tensor:
    """Applies a depthwise `kernel` x `kernel` convolution, then a 1x1 one; no bias, SAME padding."""
    channels = int(x.shape[-1])
    depthwise = weight("depthwise", [kernel, kernel, channels, 1], decay)
    pointwise = weight("pointwise", [1, 1, channels, filters], decay)
    x = tf1.nn.depthwise_conv2d_native(x, depthwise, [1, stride, stride, 1], "SAME")
    return tf.nn.conv2d(x, pointwise, 1, "VALID")


def conv_bn_relu(x: Tensor, scope: str, filters: int, kernel: int | tuple[int, int],
                 stride: int = 1, padding: str = "SAME", decay: float = 0.0,
                 relu: bool = True) -> Tensor:
    """Applies convolution, batch normalisation and (with `relu`) the rectifier."""
    with tf1.variable_scope(scope):
        x = batch_norm(conv(x, filters, kernel, stride, padding, decay))
        return tf.nn.relu(x) if relu else x


def dense(x: Tensor, scope: str, units: int, decay: float = 0.0) -> Tensor:
    """Returns x [n, features] -> [n, units]: matrix product plus bias."""
    with tf1.variable_scope(scope):
        weights = weight("weights", [int(x.shape[-1]), units], decay)
        return tf.nn.bias_add(tf.matmul(x, weights), bias("biases", units))


def image_inputs(batch: int, size: int) -> tuple[Tensor, Tensor]:
    """Returns the placeholders: images [batch, size, size, 3], labels [batch]."""
    return (tf1.placeholder(tf.float32, [batch, size, size, 3], "images"),
            tf1.placeholder(tf.int32, [batch], "labels"))


def classifier_loss(labels: Tensor, heads: Sequence[tuple[Tensor, float]]) -> Tensor:
    """Returns the sum of the mean cross entropy of each (logits, weight), plus the regularisation losses."""
    with tf1.name_scope("loss"):
        terms = []
        for logits, scale in heads:
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            mean = tf.reduce_mean(entropy)
            terms.append(mean if scale == 1.0 else tf.multiply(mean, scale))
        return tf.add_n(terms + tf1.get_collection(tf1.GraphKeys.REGULARIZATION_LOSSES),
                        name="total")


class LstmLayer:
    """A BasicLSTMCell's weights; each call is one time step, op by op.

        i, j, f, o = split([x, h] W + b);  c' = sigmoid(f + 1) c + sigmoid(i) tanh(j)
        h' = sigmoid(o) tanh(c')

    W [inputs + hidden, 4 hidden], b [4 hidden]; x [batch, inputs]; c, h [batch, hidden].
    """

    def __init__(self, scope: str, inputs: int, hidden: int) -> None:
        self.scope = scope
        with tf1.variable_scope(scope):
            self.weights = weight("kernel", [inputs + hidden, 4 * hidden])
            self.bias = bias("bias", 4 * hidden)

    def __call__(self, x: Tensor, state: tuple[Tensor, Tensor], step: int) -> tuple[Tensor, tuple]:
        """Returns (h', (c', h'))."""
        c, h = state
        with tf1.name_scope(f"{self.scope}/t{step}/"):
            gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), self.weights), self.bias)
            i, j, f, o = tf.split(gates, 4, 1)
            c = tf.add(tf.multiply(c, tf.sigmoid(tf.add(f, 1.0))),
                       tf.multiply(tf.sigmoid(i), tf.tanh(j)))
            h = tf.multiply(tf.tanh(c), tf.sigmoid(o))
        return h, (c, h)


def zero_state(batch: int, hidden: int, scope: str) -> tuple[Tensor, Tensor]:
    with tf1.name_scope(scope + "/zero_state/"):
        return tf.zeros([batch, hidden], name="c"), tf.zeros([batch, hidden], name="h")


def drop(x: Tensor, rate: float, scope: str, step: int) -> Tensor:
    """Drops a share `rate` of one time step's values."""
    if rate == 0:
        return x
    with tf1.name_scope(f"{scope}/t{step}/"):
        return tf.nn.dropout(x, rate=rate)


def embed(tokens: Tensor, scope: str, vocab: int, size: int) -> list[Tensor]:
    """Maps tokens [batch, time] to one [batch, size] per time step."""
    with tf1.variable_scope(scope):
        table = weight("table", [vocab, size])
        return tf.unstack(tf.nn.embedding_lookup(table, tokens), axis=1)
