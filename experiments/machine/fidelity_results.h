#pragma once

// Verifications in results files.

#include <span>
#include <string>

#include "experiments/machine/verification.h"
#include "experiments/provenance.h"
#include "framework/results/results_file.h"

namespace emplace {

/// In the place of what `group` held before:
///
///   <group>              attributes: graph, cluster, mode, rounds, seconds, date, host, cpu, gpus,
///                        version, commit; placements, repeat_noise, median_noise, mape,
///                        max_error, bias, kendall_tau, repeat_tau, pair_accuracy, clear_pairs,
///                        top_regret, best_regret (a single placement has mape and max_error only;
///                        NaN where nothing can be said); equal_peaks, arena_overhead, proxy_share,
///                        rung_measured, rung_..., busy_ratio, reference_drift, clock_change
///     labels, warnings, unfitting, device_names    texts
///     steps              table: simulated_ns, searched_ns (what the run saw; -1 without),
///                        measured_ns, low_ns, high_ns, noise (MAD of the repeats / median),
///                        proxy_share, rung_measured, rung_...
///     step_times_ns      [placements, rounds]
///     placement          [placements, num_ops] device index
///     busy_simulated_ns, busy_measured_ns, peak_simulated_bytes, peak_executor_bytes,
///     arena_bytes        [placements, num_devices]
///     busy_error         [num_devices]
///     ablations/<name>/  attributes mape, max_error, bias, kendall_tau, pair_accuracy,
///                        clear_pairs, top_regret, best_regret
void WriteVerification(ResultsFile& file,
                       const std::string& group,
                       const Verification& verification,
                       const VerificationSummary& summary,
                       std::span<const Ablation> ablations,
                       const Provenance& provenance);

}  // namespace emplace
