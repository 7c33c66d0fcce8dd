"""RNNLM: the LSTM language model of Zaremba et al., "Recurrent Neural Network Regularization".

arXiv 1409.2329, 2014. `layers` LSTM layers of `hidden` units over `unroll` words, dropout on every
non-recurrent connection, one softmax over the whole vocabulary for all steps together. Parameters,
with V = vocab, H = hidden, L = layers: V H + L (2 H * 4 H + 4 H) + H V + V.
"""

from __future__ import annotations

import types

import tensorflow as tf

from emplace.importers.tensorflow.models.layers import LstmLayer, dense, drop, embed, tf1, zero_state


def build(options: types.SimpleNamespace) -> tf.Tensor:
    """Builds forward pass and loss: summed cross entropy of all words over the batch size."""
    batch, unroll, hidden = options.batch, options.unroll, options.hidden
    tokens = tf1.placeholder(tf.int32, [batch, unroll], "tokens")
    targets = tf1.placeholder(tf.int32, [batch, unroll], "targets")

    sequence = embed(tokens, "embedding", options.vocab, hidden)
    for index in range(options.layers):
        scope = f"lstm{index}"
        layer = LstmLayer(scope, hidden, hidden)
        state = zero_state(batch, hidden, scope)
        for step in range(unroll):
            x = drop(sequence[step], options.dropout, scope, step)
            sequence[step], state = layer(x, state, step)
    outputs = [drop(x, options.dropout, "output", step) for step, x in enumerate(sequence)]
    # [batch * unroll, hidden], batch-major like the targets.
    flat = tf.reshape(tf.concat(outputs, 1), [batch * unroll, hidden])
    logits = dense(flat, "softmax", options.vocab)
    with tf1.name_scope("loss"):
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(targets, [-1]), logits=logits)
        return tf.divide(tf.reduce_sum(entropy), float(batch), name="total")
