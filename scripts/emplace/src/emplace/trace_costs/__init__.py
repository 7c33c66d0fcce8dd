"""Traces as costs: `emplace costs`, and costs_from_trace() for Python.

A trace of the user's own steps becomes a cost file (framework/cost/FORMAT.md), so that a machine that cannot run
`emplace profile` is measured all the same.

    build      from traces and a graph to a cost file and its report
    command    `emplace costs`
    nsight     databases of Nsight Systems as traces
    steps      the calls of a traced step, with their times
    graph_ops  the ops of a graph, as calls are compared with them
    names      which operators and op kinds are the same work
    align      the best order-preserving pairing of two sequences
    match      which call is which op
    tally      sums over steps
    table      timings as a cost file
    simulated  what the file makes of the step on one device
    report     what was matched, and what was not
"""
