"""Traces as costs: `emplace costs`, and costs_from_trace() for Python.

A trace of the user's own steps becomes a cost file (framework/cost/FORMAT.md). So even a machine that cannot run
`emplace profile` can have measured costs.

    build      from traces and a graph to a cost file and its report
    command    `emplace costs`
    nsight     databases of Nsight Systems as traces
    steps      the calls of a traced step, with their times
    graph_ops  the ops of a graph, in the form that calls are compared with
    names      operators and op kinds that are the same work
    align      the best order-preserving pairing of two sequences
    match      finds the op of each call
    tally      sums over steps
    table      timings as a cost file
    simulated  the step on one device, simulated with the file
    report     matched and unmatched calls
"""
