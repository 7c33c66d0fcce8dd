"""From a model to a map in one command: `emplace place MODEL --cluster C --for TARGET`.

`grain` and `modules` find the units that a target can distinguish. `simulation` and `decide` search, compare and check
that the files express the simulated placement. Each target is a file and one line of `targets`.
"""
