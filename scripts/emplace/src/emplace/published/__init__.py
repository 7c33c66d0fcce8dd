"""Figures that others measured on real GPUs and published, beside simulations of the same ops and steps.

    python3 -m emplace.published neusight-steps DIR --gpu H100 --json rows.json

Sources   neusight.py: op times and steps of NeuSight; sailor.py: ops, collectives and links of Sailor
Graphs    fx_step.py makes the graph of a step from the table of one layer, models.py from the config of its model
Plans     neusight_plans.py; sailor_plans.py with sailor_plan_files.py, sailor_tables.py, sailor_step.py: steps executed
          on several GPUs; plans.py simulates them
Times     simulate.py simulates steps and ops, links.py transfers
Output    figures.py: rows, their table, mean errors and rank correlation; classes.py: steps by class of op

Files are read where they lie; none is part of the package. profilers/ACCURACY.md has the results.
"""
