"""NMT: LSTM encoder and decoder with additive attention (Bahdanau et al., 2015), unrolled.

The encoder has `layers` LSTM layers of `hidden` units over `unroll` source words; the decoder has
as many over `unroll` target words (teacher forcing). At step t, with decoder output q_t, memory m_s
(the encoder's outputs) and keys k_s = m_s W_m:

    e_ts = v . tanh(k_s + q_t W_q);  a_t = softmax(e_t);  context_t = sum_s a_ts m_s
    attentional_t = tanh([q_t, context_t] W_c);  logits_t = attentional_t W_o + b_o

The bottom layer of step t + 1 reads [word, context_t]. Attention and softmax are separate ops at
every step, as in the TensorFlow 1 attention decoder, so a placer may separate them from the LSTMs.
Every LSTM layer drops a share `dropout` of its inputs.
Parameters, V = vocab, H = hidden, L = layers:
    2 V H + (2 L 2 H + H) 4 H + 2 L 4 H + 2 H H + H + 2 H H + H V + V.
"""

from __future__ import annotations

import types

import tensorflow as tf

from emplace.importers.tensorflow.models.layers import LstmLayer, Tensor, bias, drop, embed, tf1, weight, zero_state


class _Attention:
    """Additive attention over `memory` [batch, time, hidden]."""

    def __init__(self, memory: Tensor) -> None:
        batch, time, hidden = memory.shape.as_list()
        self.memory = memory
        with tf1.variable_scope("attention"):
            self.query_weights = weight("query", [hidden, hidden])
            self.score = weight("score", [hidden])
            self.combine = weight("combine", [2 * hidden, hidden])
            flat = tf.reshape(memory, [batch * time, hidden])
            keys = tf.matmul(flat, weight("memory", [hidden, hidden]))
            self.keys = tf.reshape(keys, [batch, time, hidden])

    def __call__(self, query: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Maps query [batch, hidden] to (context, attentional), each [batch, hidden]."""
        with tf1.name_scope(f"attention/t{step}/"):
            projected = tf.expand_dims(tf.matmul(query, self.query_weights), 1)
            energy = tf.reduce_sum(tf.tanh(self.keys + projected) * self.score, 2)
            weights = tf.expand_dims(tf.nn.softmax(energy), 2)
            context = tf.reduce_sum(weights * self.memory, 1)
            attentional = tf.tanh(tf.matmul(tf.concat([query, context], 1), self.combine))
        return context, attentional


def _encode(tokens: Tensor, options: types.SimpleNamespace) -> tuple[Tensor, list[tuple]]:
    """Returns the memory [batch, time, hidden] and the last state of every layer."""
    sequence = embed(tokens, "encoder/embedding", options.vocab, options.hidden)
    states = []
    for index in range(options.layers):
        scope = f"encoder/lstm{index}"
        layer = LstmLayer(scope, options.hidden, options.hidden)
        state = zero_state(options.batch, options.hidden, scope)
        for step in range(options.unroll):
            x = drop(sequence[step], options.dropout, scope, step)
            sequence[step], state = layer(x, state, step)
        states.append(state)
    return tf.stack(sequence, 1, name="encoder/memory"), states


def build(options: types.SimpleNamespace) -> Tensor:
    """Builds forward pass and loss: weighted cross entropy of all target words over the batch size."""
    batch, time, hidden, vocab = options.batch, options.unroll, options.hidden, options.vocab
    source = tf1.placeholder(tf.int32, [batch, time], "source")
    target_in = tf1.placeholder(tf.int32, [batch, time], "target_in")
    labels = tf.unstack(tf1.placeholder(tf.int32, [batch, time], "target_out"), axis=1)
    masks = tf.unstack(tf1.placeholder(tf.float32, [batch, time], "target_weights"), axis=1)

    memory, states = _encode(source, options)
    attention = _Attention(memory)
    words = embed(target_in, "decoder/embedding", vocab, hidden)
    layers = [LstmLayer(f"decoder/lstm{index}", 2 * hidden if index == 0 else hidden, hidden)
              for index in range(options.layers)]
    with tf1.variable_scope("softmax"):
        weights, biases = weight("weights", [hidden, vocab]), bias("biases", vocab)
    context, _ = zero_state(batch, hidden, "attention")
    losses = []
    for step in range(time):
        with tf1.name_scope(f"decoder/t{step}/"):
            x = tf.concat([words[step], context], 1)
        for index, layer in enumerate(layers):
            x = drop(x, options.dropout, layer.scope, step)
            x, states[index] = layer(x, states[index], step)
        context, attentional = attention(x, step)
        with tf1.name_scope(f"softmax/t{step}/"):
            logits = tf.nn.bias_add(tf.matmul(attentional, weights), biases)
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[step],
                                                                     logits=logits)
            losses.append(tf.reduce_sum(entropy * masks[step]))
    with tf1.name_scope("loss"):
        return tf.divide(tf.add_n(losses), float(batch), name="total")
