"""Language models of ENAS's recurrent search space: the family ptb.

Node 0 of a cell reads the word x and the last state h; node l reads an earlier node j, as in ENAS:

    h_0 = h + t_0 (act_0(a_0) - h),          [a_0, b_0] = [x, h] W_0,   t = sigmoid(b)
    h_l = h_j + t_l (act_l(a_l) - h_j),      [a_l, b_l] = h_j W_l

W_0 [2H, 2H], W_l [H, 2H]; the state is the mean of the loose ends. Our choices: layers of the same cell, each with its
own weights, are stacked (ENAS has one). Every step has its own softmax with its own weights, as in
emplace.importers.tensorflow.models.nmt, so that a placer may separate it from the cells (ENAS has one for all steps,
tied to the embedding). Dropout is not used.
"""

from __future__ import annotations

import types

import tensorflow as tf

from families.architectures import parse_recurrent, recurrent_ends
from emplace.importers.tensorflow.models.layers import Tensor, bias, embed, tf1, weight

_ACTIVATIONS = {"tanh": tf.tanh, "relu": tf.nn.relu, "id": lambda x: x, "sigmoid": tf.sigmoid}


class _Cell:
    """One layer's weights; each call is one time step, op by op."""

    def __init__(self, scope: str, cell: str, hidden: int) -> None:
        self.scope, self.nodes = scope, parse_recurrent(cell)
        self.ends = recurrent_ends(self.nodes)
        with tf1.variable_scope(scope):
            self.weights = [weight(f"w{node}", [2 * hidden if node == 0 else hidden, 2 * hidden])
                            for node in range(len(self.nodes))]

    def __call__(self, x: Tensor, h: Tensor, step: int) -> Tensor:
        """Maps x, h [batch, hidden] to the next state."""
        states: list[Tensor] = []
        for node, (before, activation) in enumerate(self.nodes):
            with tf1.name_scope(f"{self.scope}/t{step}/node{node}/"):
                previous = h if node == 0 else states[before]
                read = tf.concat([x, h], 1) if node == 0 else previous
                a, b = tf.split(tf.matmul(read, self.weights[node]), 2, 1)
                gate = tf.sigmoid(b)
                states.append(previous + gate * (_ACTIVATIONS[activation](a) - previous))
        with tf1.name_scope(f"{self.scope}/t{step}/"):
            ends = [states[node] for node in self.ends]
            return ends[0] if len(ends) == 1 else tf.multiply(tf.add_n(ends), 1 / len(ends))


def build(options: types.SimpleNamespace) -> Tensor:
    """Builds forward pass and loss; options as `architectures.draw_ptb` draws them."""
    batch, unroll, hidden = options.batch, options.unroll, options.hidden
    tokens = tf1.placeholder(tf.int32, [batch, unroll], "tokens")
    targets = tf.unstack(tf1.placeholder(tf.int32, [batch, unroll], "targets"), axis=1)
    words = embed(tokens, "embedding", options.vocab, hidden)
    layers = [_Cell(f"layer{index}", options.cell, hidden) for index in range(options.layers)]
    with tf1.variable_scope("softmax"):
        weights, biases = weight("weights", [hidden, options.vocab]), bias("biases", options.vocab)
    states = []
    for layer in layers:
        with tf1.name_scope(layer.scope + "/zero_state/"):
            states.append(tf.zeros([batch, hidden], name="h"))
    losses = []
    for step, x in enumerate(words):
        for index, layer in enumerate(layers):
            x = states[index] = layer(x, states[index], step)
        with tf1.name_scope(f"softmax/t{step}/"):
            logits = tf.nn.bias_add(tf.matmul(x, weights), biases)
            losses.append(tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=targets[step], logits=logits)))
    with tf1.name_scope("loss"):
        return tf.divide(tf.add_n(losses), float(batch), name="total")
