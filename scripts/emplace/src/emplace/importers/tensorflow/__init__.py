"""From a TensorFlow 1 style graph to an emplace graph: `train_step`, `convert`, `work`."""


class ModelError(Exception):
    """The user's model cannot be exported; the message says why and what to change."""
