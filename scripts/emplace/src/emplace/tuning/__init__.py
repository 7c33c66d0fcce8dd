"""Searches for the settings of an agent with Optuna: `emplace tune` and emplace.tune().

config   the YAML file: a run config, the ranges to draw from, the sampler and the pruner
ranges   values to draw from
trial    one set of settings, used for a search on every problem and seed
study    all trials in Optuna's storage, and their outcome
"""
