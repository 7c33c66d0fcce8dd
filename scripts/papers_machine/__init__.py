"""The machines of the papers: known facts, free figures, the fit, the page.

- machine: machines, their free figures, their files in configs/.
- cells: the rows of the papers' tables.
- bench: our steps of these rows on a machine, by running `emplace`.
- fit: the search for the figures.
- page: the tables of configs/papers/machines.md.
"""
