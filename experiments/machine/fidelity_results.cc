#include "experiments/machine/fidelity_results.h"

#include <cmath>
#include <functional>

#include "profilers/measure/calibrate.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

std::string RungName(int rung) {
  return "rung_" + std::string(ToString(static_cast<Rung>(rung)));
}

void WriteErrors(ResultsFile& file, const std::string& group, const Fidelity& f) {
  file.SetAttribute(group, "mape", f.mape);
  file.SetAttribute(group, "max_error", f.max_error);
  file.SetAttribute(group, "bias", f.bias);
  file.SetAttribute(group, "kendall_tau", f.kendall_tau);
  file.SetAttribute(group, "pair_accuracy", f.pair_accuracy);
  file.SetAttribute(group, "clear_pairs", f.clear_pairs);
  file.SetAttribute(group, "top_regret", f.top_regret);
  file.SetAttribute(group, "best_regret", f.best_regret);
}

void WriteInterval(ResultsFile& file, const std::string& group, const StepInterval& step) {
  file.SetAttribute(group, "interval_level", step.interval.level);
  file.SetAttribute(group, "interval_low_ratio", step.interval.low);
  file.SetAttribute(group, "interval_high_ratio", step.interval.high);
  file.SetAttribute(group, "interval_source", step.source);
  file.SetAttribute(group, "held_out", std::int64_t{step.interval.held_out});
  file.SetAttribute(group, "held_out_coverage", step.interval.held_out_coverage);
}

void WriteFigures(ResultsFile& file, const std::string& group, const VerificationSummary& summary) {
  file.SetAttribute(group, "verdict", summary.verdict);
  file.SetAttribute(group, "resolved_difference", summary.resolved);
  file.SetAttribute(group, "mape", summary.mape);
  file.SetAttribute(group, "max_error", summary.max_error);
  if (summary.fidelity) {
    file.SetAttribute(group, "repeat_noise", summary.fidelity->repeat_noise);
    file.SetAttribute(group, "median_noise", summary.fidelity->median_noise);
    file.SetAttribute(group, "repeat_tau", summary.fidelity->repeat_tau);
    WriteErrors(file, group, *summary.fidelity);
  }
  if (summary.pairs) {
    file.SetAttribute(group, "paired_level", kPairedLevel);
    file.SetAttribute(group, "differing_pairs", summary.pairs->differing);
    file.SetAttribute(group, "differing_in_order", summary.pairs->in_order);
  }
  if (summary.intervals) {
    const IntervalFidelity& f = *summary.intervals;
    file.SetAttribute(group, "coverage", f.coverage);
    file.SetAttribute(group, "repeat_coverage", f.repeat_coverage);
    file.SetAttribute(group, "distinct_pairs", f.distinct_pairs);
    file.SetAttribute(group, "distinct_accuracy", f.distinct_accuracy);
  }
  if (summary.residuals) WriteResiduals(file, group + "/residuals", *summary.residuals);
  file.SetAttribute(group, "equal_peaks", std::int64_t{summary.equal_peaks});
  file.SetAttribute(group, "arena_overhead", summary.arena_overhead);
  file.SetAttribute(group, "proxy_share", summary.proxy_share);
  for (int rung = 0; rung < kNumRungs; ++rung) {
    file.SetAttribute(group, RungName(rung), summary.shares[rung]);
  }
  file.SetAttribute(group, "busy_ratio", summary.busy_ratio);
  file.SetAttribute(group, "reference_drift", summary.reference_drift);
  file.SetAttribute(group, "clock_change", summary.clock_change);
  file.WriteDoubles(group + "/busy_error", summary.busy_error);
  file.WriteStrings(group + "/warnings", summary.warnings);
}

double Noise(const StepMeasurement& measured) {
  const std::vector<double> times(measured.step_times.begin(), measured.step_times.end());
  return MedianAbsoluteDeviation(times) / measured.step.median;
}

std::int64_t WholeTrait(const VerifiedPlacement& placement, StepTrait trait) {
  return std::llround(placement.traits[static_cast<size_t>(trait)]);
}

// Ratio of each placement to the fastest one; 1 if there is only one placement.
std::vector<PairedRatio> RatiosOf(const Verification& verification,
                                  const VerificationSummary& summary) {
  if (summary.pairs) return summary.pairs->to_fastest;
  const std::vector<Nanos>& steps = verification.placements[0].measured.step_times;
  const std::vector<double> times(steps.begin(), steps.end());
  return {ComparePaired(times, times)};
}

void WriteSteps(ResultsFile& file,
                const std::string& group,
                const Verification& verification,
                const VerificationSummary& summary) {
  const std::vector<VerifiedPlacement>& placements = verification.placements;
  const auto ints = [&](const char* name, auto value) {
    std::vector<std::int64_t> values;
    for (const VerifiedPlacement& placement : placements) values.push_back(value(placement));
    return TableColumn{name, std::move(values)};
  };
  const auto doubles = [&](const std::string& name, auto value) {
    std::vector<double> values;
    for (const VerifiedPlacement& placement : placements) values.push_back(value(placement));
    return TableColumn{name, std::move(values)};
  };
  const std::vector<PairedRatio> to_fastest = RatiosOf(verification, summary);
  const auto ratios = [&](const char* name, double PairedRatio::*figure) {
    std::vector<double> values;
    for (const PairedRatio& ratio : to_fastest) values.push_back(ratio.*figure);
    return TableColumn{name, std::move(values)};
  };
  using P = const VerifiedPlacement&;
  const auto around = [&](P p) {
    return verification.interval.interval.Around(static_cast<double>(p.simulated.step_time));
  };
  std::vector<TableColumn> columns = {
      ints("simulated_ns", [](P p) { return p.simulated.step_time; }),
      ints("searched_ns", [](P p) { return p.candidate.searched.value_or(-1); }),
      doubles("measured_ns", [](P p) { return p.measured.step.median; }),
      doubles("low_ns", [](P p) { return p.measured.step.low; }),
      doubles("high_ns", [](P p) { return p.measured.step.high; }),
      doubles("noise", [](P p) { return Noise(p.measured); }),
      doubles("interval_low_ns", [&](P p) { return around(p).low; }),
      doubles("interval_high_ns", [&](P p) { return around(p).high; }),
      ratios("to_fastest", &PairedRatio::median),
      ratios("to_fastest_low", &PairedRatio::low),
      ratios("to_fastest_high", &PairedRatio::high),
      ints("crossing_bytes", [](P p) { return WholeTrait(p, StepTrait::kCrossingBytes); }),
      ints("crossings", [](P p) { return WholeTrait(p, StepTrait::kCrossings); }),
      doubles("overlap", [](P p) { return p.traits[static_cast<size_t>(StepTrait::kOverlap)]; }),
      doubles("proxy_share", [](P p) { return p.measured.proxy_share; })};
  for (int rung = 0; rung < kNumRungs; ++rung) {
    columns.push_back(doubles(RungName(rung), [rung](P p) { return p.shares[rung]; }));
  }
  file.WriteTable(group + "/steps", columns);
}

// Rows of all placements, one below the other.
void WriteRows(ResultsFile& file,
               const std::string& dataset,
               const Verification& verification,
               size_t columns,
               const std::function<std::int64_t(const VerifiedPlacement&, int column)>& value) {
  std::vector<std::int64_t> values;
  for (const VerifiedPlacement& placement : verification.placements) {
    for (size_t column = 0; column < columns; ++column) {
      values.push_back(value(placement, static_cast<int>(column)));
    }
  }
  file.WriteIntMatrix(dataset, values, columns);
}

}  // namespace

void WriteResiduals(ResultsFile& file, const std::string& group, const ResidualReport& report) {
  file.SetAttribute(group, "graphs", std::int64_t{report.graphs});
  file.SetAttribute(group, "placements", std::int64_t{report.placements});
  file.SetAttribute(group, "shuffles", std::int64_t{report.shuffles});
  file.SetAttribute(group, "largest_above", report.largest_above);
  file.SetAttribute(group, "systematic", std::int64_t{report.is_systematic()});
  std::vector<std::string> names;
  for (const TraitCorrelation& trait : report.traits) names.emplace_back(ToString(trait.trait));
  file.WriteStrings(group + "/traits", names);
  const auto column = [&](const char* name, double TraitCorrelation::*figure) {
    std::vector<double> values;
    for (const TraitCorrelation& trait : report.traits) values.push_back(trait.*figure);
    return TableColumn{name, std::move(values)};
  };
  file.WriteTable(group + "/correlations",
                  {column("pearson", &TraitCorrelation::pearson),
                   column("pearson_above", &TraitCorrelation::pearson_above),
                   column("spearman", &TraitCorrelation::spearman),
                   column("spearman_above", &TraitCorrelation::spearman_above),
                   column("slope", &TraitCorrelation::slope)});
}

void WriteVerification(ResultsFile& file,
                       const std::string& group,
                       const Verification& verification,
                       const VerificationSummary& summary,
                       std::span<const Ablation> ablations,
                       const Provenance& provenance) {
  const Problem& problem = *verification.problem;
  file.Remove(group);
  file.SetAttribute(group, "graph", problem.graph().name());
  file.SetAttribute(group, "cluster", problem.cluster().name());
  file.SetAttribute(group, "mode", ToString(verification.mode));
  file.SetAttribute(group, "rounds", std::int64_t{verification.rounds});
  file.SetAttribute(group, "seconds", verification.seconds);
  file.SetAttribute(group, "placements", static_cast<std::int64_t>(verification.placements.size()));
  WriteProvenance(file, group, provenance);
  WriteInterval(file, group, verification.interval);
  WriteFigures(file, group, summary);
  std::vector<std::string> labels;
  for (const VerifiedPlacement& placement : verification.placements) {
    labels.push_back(placement.candidate.label);
  }
  file.WriteStrings(group + "/labels", labels);
  file.WriteStrings(group + "/unfitting", verification.unfitting);
  file.WriteStrings(group + "/device_names", problem.cluster().DeviceNames());
  WriteSteps(file, group, verification, summary);

  using P = const VerifiedPlacement&;
  const auto rows = [&](const char* name, size_t columns, auto value) {
    WriteRows(file, group + "/" + name, verification, columns, value);
  };
  const auto per_device = static_cast<size_t>(problem.num_devices());
  rows("step_times_ns", verification.placements[0].measured.step_times.size(), [](P p, int round) {
    return p.measured.step_times[round];
  });
  rows("placement", static_cast<size_t>(problem.num_ops()), [&](P p, int op) {
    return std::int64_t{p.candidate.placement.device[problem.grouping().group_of(op)]};
  });
  rows("busy_simulated_ns", per_device, [](P p, int d) { return p.simulated.devices[d].busy; });
  rows("busy_measured_ns", per_device, [](P p, int d) { return p.measured.busy[d]; });
  rows("peak_simulated_bytes", per_device, [](P p, int d) { return p.simulated.devices[d].peak; });
  rows("peak_executor_bytes", per_device, [](P p, int d) { return p.measured.peak[d]; });
  rows("arena_bytes", per_device, [](P p, int d) { return p.measured.arena[d]; });
  for (const Ablation& ablation : ablations) {
    WriteErrors(file, group + "/ablations/" + ablation.name, ablation.fidelity);
  }
}

}  // namespace emplace
