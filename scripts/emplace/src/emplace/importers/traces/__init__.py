"""The common part of the importers of PyTorch's traces: from recorded calls of operators to a graph.

    aten    facts about PyTorch's operators by their names: work, composite operators, written arguments
    calls   the tree of recorded nodes, and the choice of those that become ops
    graph   calls with the storages that they use, as a graph
"""
