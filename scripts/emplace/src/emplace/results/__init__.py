"""Results of emplace as data frames, tables and pictures.

    from emplace.results import figures, load_runs
    loaded = load_runs("results/six_cells")          # a sweep's folder, a results file, or many
    loaded.runs.groupby(["problem", "agent"])["best_step_time_ns"].median()
    figures.learning_curves(loaded.runs, loaded.evaluations).savefig("curves.svg")

Loading:  load_runs, load_generalization, load_fidelity, load_stress; Runs, Generalization, Fidelity and Stress
          describe the frames. Each function throws ResultsError, which names file and reason
Numbers:  summaries.summarise_runs, summaries.evaluations_to, targets.expected_running_time, targets.ecdf,
          robustness.method_ratios, ...
Pictures: figures.learning_curves, efficiency_bars, target_ecdfs, final_step_times, generalization_cdfs,
          fidelity_scatter, fidelity_errors, noise_regrets; each takes frames and returns a matplotlib Figure
Shell:    python3 -m emplace.results --help
"""

try:
    from .fidelity import Fidelity, load_fidelity
    from .files import ResultsError
    from .generalization import Generalization, load_generalization
    from .runs import Runs, load_runs
    from .stress import Stress, load_stress
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error.name} is missing: pip install -r "
                              "scripts/requirements-results.txt", name=error.name) from None

__all__ = ["Fidelity", "Generalization", "ResultsError", "Runs", "Stress", "load_fidelity",
           "load_generalization", "load_runs", "load_stress"]
