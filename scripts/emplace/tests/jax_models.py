"""Training steps in flax and optax, as a user writes them; each function returns what `emplace import` expects."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState
from jax import ShapeDtypeStruct as Array


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(10)(nn.relu(nn.Dense(256)(x)))


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 64):
            x = nn.Conv(width, (3, 3), strides=(2, 2), padding="VALID", use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
        return nn.Dense(10)(nn.max_pool(x, (2, 2), strides=(2, 2)).reshape(x.shape[0], -1))


class Block(nn.Module):
    width: int
    heads: int

    @nn.compact
    def __call__(self, x):
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads, deterministic=True)(h, h)
        h = nn.LayerNorm()(x)
        return x + nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(h)))


class Transformer(nn.Module):
    words: int
    width: int
    heads: int
    layers: int
    length: int

    @nn.compact
    def __call__(self, tokens):
        places = self.param("places", nn.initializers.zeros, (self.length, self.width))
        x = nn.Embed(self.words, self.width)(tokens) + places
        for _ in range(self.layers):
            x = Block(self.width, self.heads)(x)
        return nn.Dense(self.words, use_bias=False)(nn.LayerNorm()(x))


def _mean_loss(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def mlp(batch=32):
    """784 -> 256 -> 10, Adam."""
    model, optimizer = Mlp(), optax.adam(1e-3)
    params = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 784)))
    state = jax.eval_shape(optimizer.init, params)

    @jax.jit
    def step(params, opt_state, images, labels):
        loss, gradients = jax.value_and_grad(lambda p: _mean_loss(model.apply(p, images), labels))(params)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return {"step": step, "parameters": "params", "optimizer_state": "opt_state",
            "arguments": (params, state, Array((batch, 784), jnp.float32), Array((batch,), jnp.int32))}


def cnn(batch=32):
    """Two convolutions with batch norms on 33 x 33 pixels, Adam."""
    model, optimizer = Cnn(), optax.adam(1e-3)
    variables = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 33, 33, 3)))
    state = jax.eval_shape(optimizer.init, variables["params"])

    def step(params, batch_stats, opt_state, images, labels):
        def loss_of(params):
            logits, changed = model.apply({"params": params, "batch_stats": batch_stats}, images,
                                          mutable=["batch_stats"])
            return _mean_loss(logits, labels), changed["batch_stats"]
        (loss, batch_stats), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), batch_stats, opt_state, loss

    return {"step": jax.jit(step), "parameters": "params", "optimizer_state": "opt_state", "buffers": "batch_stats",
            "arguments": (variables["params"], variables["batch_stats"], state,
                          Array((batch, 33, 33, 3), jnp.float32), Array((batch,), jnp.int32))}


def transformer(batch=4, layers=2, width=128, heads=4, words=1000, length=64):
    """Blocks as in GPT-2, without a mask; AdamW behind a clip of the gradients' norm; flax's TrainState."""
    model = Transformer(words, width, heads, layers, length)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))

    def create(key):
        params = model.init(key, jnp.zeros((1, length), jnp.int32))["params"]
        return TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)

    def step(state, tokens, targets):
        loss, gradients = jax.value_and_grad(
            lambda params: _mean_loss(model.apply({"params": params}, tokens), targets))(state.params)
        return state.apply_gradients(grads=gradients), loss

    tokens = Array((batch, length), jnp.int32)
    return {"step": jax.jit(step), "parameters": "state.params", "optimizer_state": ["state.opt_state", "state.step"],
            "arguments": (jax.eval_shape(create, jax.random.key(0)), tokens, tokens)}
