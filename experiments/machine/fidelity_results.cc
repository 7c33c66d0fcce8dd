#include "experiments/machine/fidelity_results.h"

#include <cmath>

#include "experiments/run/search_record.h"
#include "profilers/measure/calibrate.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

double Noise(const StepMeasurement& measured) {
  const std::vector<double> times(measured.step_times.begin(), measured.step_times.end());
  return MedianAbsoluteDeviation(times) / measured.step.median;
}

// Returns the ratio of each placement to the fastest one; 1 if there is only one placement.
std::vector<PairedRatio> RatiosOf(const Verification& verification,
                                  const VerificationSummary& summary) {
  if (summary.pairs) return summary.pairs->to_fastest;
  const std::vector<Nanos>& steps = verification.placements[0].measured.step_times;
  const std::vector<double> times(steps.begin(), steps.end());
  return {ComparePaired(times, times)};
}

VerifiedStep StepOf(const VerifiedPlacement& placement,
                    const PredictionInterval& interval,
                    const PairedRatio& to_fastest) {
  const auto trait = [&](StepTrait one) { return placement.traits[static_cast<size_t>(one)]; };
  const Nanos simulated = placement.simulated.step_time;
  return {.simulated = simulated,
          .searched = placement.candidate.searched.value_or(-1),
          .measured = placement.measured.step.median,
          .low = placement.measured.step.low,
          .high = placement.measured.step.high,
          .noise = Noise(placement.measured),
          .interval = interval.Around(static_cast<double>(simulated)),
          .to_fastest = to_fastest,
          .crossing_bytes = std::llround(trait(StepTrait::kCrossingBytes)),
          .crossings = std::llround(trait(StepTrait::kCrossings)),
          .overlap = trait(StepTrait::kOverlap),
          .proxy_share = placement.measured.proxy_share,
          .shares = placement.shares};
}

}  // namespace

VerificationRecord::VerificationRecord(const Verification& verification,
                                       const VerificationSummary& summary)
    : graph(verification.problem->graph().name()),
      cluster(verification.problem->cluster().name()),
      mode(ToString(verification.mode)),
      rounds(verification.rounds),
      seconds(verification.seconds),
      placements(std::ssize(verification.placements)),
      interval(verification.interval),
      summary(summary),
      unfitting(verification.unfitting),
      device_names(verification.problem->cluster().DeviceNames()) {
  const std::vector<PairedRatio> to_fastest = RatiosOf(verification, summary);
  for (const VerifiedPlacement& one : verification.placements) {
    const StepMeasurement& measured = one.measured;
    labels.push_back(one.candidate.label);
    steps.push_back(StepOf(one, interval.interval, to_fastest[steps.size()]));
    step_times.push_back(measured.step_times);
    placement.emplace_back();
    for (const int group : verification.problem->grouping().group_of_op()) {
      placement.back().push_back(one.candidate.placement.device[group]);
    }
    busy_simulated.emplace_back();
    peak_simulated.emplace_back();
    for (const DeviceOutcome& device : one.simulated.devices) {
      busy_simulated.back().push_back(device.busy);
      peak_simulated.back().push_back(device.peak);
    }
    busy_measured.emplace_back(measured.busy.begin(), measured.busy.end());
    peak_executor.emplace_back(measured.peak.begin(), measured.peak.end());
    arena.emplace_back(measured.arena.begin(), measured.arena.end());
  }
}

void VerifiedStep::Visit(RecordVisitor& v) {
  v.Field("simulated_ns", simulated);
  v.Field("searched_ns", searched);
  v.Field("measured_ns", measured);
  v.Field("low_ns", low);
  v.Field("high_ns", high);
  v.Field("noise", noise);
  v.Field("interval_low_ns", interval.low);
  v.Field("interval_high_ns", interval.high);
  v.Field("to_fastest", to_fastest.median);
  v.Field("to_fastest_low", to_fastest.low);
  v.Field("to_fastest_high", to_fastest.high);
  v.Field("crossing_bytes", crossing_bytes);
  v.Field("crossings", crossings);
  v.Field("overlap", overlap);
  v.Field("proxy_share", proxy_share);
  VisitShares(v, shares);
}

void VerificationRecord::Visit(RecordVisitor& v) {
  v.Field("graph", graph);
  v.Field("cluster", cluster);
  v.Field("mode", mode);
  v.Field("rounds", rounds);
  v.Field("seconds", seconds);
  v.Field("placements", placements);
  v.Field("verdict", summary.verdict);
  v.Field("resolved_difference", summary.resolved);
  v.Field("mape", summary.mape);
  v.Field("max_error", summary.max_error);
  v.Part("kendall_tau", summary.fidelity);
  v.Part("paired_level", summary.pairs);
  interval.interval.Visit(v);
  v.Field("interval_source", interval.source);
  v.Part("coverage", summary.intervals);
  v.Field("equal_peaks", summary.equal_peaks);
  v.Field("arena_overhead", summary.arena_overhead);
  v.Field("proxy_share", summary.proxy_share);
  VisitShares(v, summary.shares);
  v.Field("busy_ratio", summary.busy_ratio);
  v.Field("reference_drift", summary.reference_drift);
  v.Field("clock_change", summary.clock_change);
  v.Field("busy_error", summary.busy_error);
  v.Field("warnings", summary.warnings);
  v.Field("labels", labels);
  v.Field("unfitting", unfitting);
  v.Field("device_names", device_names);
  v.Rows("steps", steps);
  v.Field("step_times_ns", step_times);
  v.Field("placement", placement);
  v.Field("busy_simulated_ns", busy_simulated);
  v.Field("busy_measured_ns", busy_measured);
  v.Field("peak_simulated_bytes", peak_simulated);
  v.Field("peak_executor_bytes", peak_executor);
  v.Field("arena_bytes", arena);
}

void WriteVerification(ResultsFile& file,
                       const std::string& group,
                       const Verification& verification,
                       const VerificationSummary& summary,
                       std::span<const Ablation> ablations,
                       const Provenance& provenance) {
  file.Remove(group);
  WriteRecord(file, group, VerificationRecord(verification, summary));
  WriteRecord(file, group, provenance);
  if (summary.residuals) WriteRecord(file, group + "/residuals", *summary.residuals);
  for (const Ablation& ablation : ablations) {
    WriteRecord(file, group + "/ablations/" + ablation.name, ablation.fidelity);
  }
}

}  // namespace emplace
