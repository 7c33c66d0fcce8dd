"""What the importers of PyTorch's traces share: from recorded calls of operators to a graph.

    aten    what is known of PyTorch's operators by their names: work, what is composite, what writes
    calls   the tree of recorded nodes, and which of them become ops
    graph   calls with the storages that they touch, as a graph
"""
