"""Searches for the settings of an agent with Optuna: `emplace tune` and emplace.tune().

config   the YAML file: a run config, what is drawn, by which sampler and pruner
ranges   values to draw from
trial    one set of settings, searched with on every problem and seed
study    all trials in Optuna's storage, and their outcome
"""
