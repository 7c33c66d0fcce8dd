"""Finds where every operation of a neural network should run.

    import emplace
    problem = emplace.Problem("inception_v3", "2xk80", coarsen=[{"cheapest": {"groups": 128}}])
    outcomes = problem.evaluate(placements)        # uint8 [B, num_groups] -> times [ns], memory [B]

Rooms:   emplace.importers  models of other frameworks as graphs (`emplace import`)
         emplace.results    results files as data frames, tables and pictures

emplace.importers and emplace.results are plain Python: they also work from the source tree, without
the compiled part.
"""

__version__ = "0.1.0"
