#include <nlohmann/json.hpp>

#include "experiments/machine/fidelity_report.h"
#include "framework/results/record_json.h"
#include "profilers/measure/calibrate.h"

// A number that is not finite is written as null by nlohmann's dump().

namespace emplace {
namespace {

using nlohmann::ordered_json;

ordered_json FidelityJson(const Fidelity& f) {
  ordered_json json = {{"placements", f.placements}};
  AppendJson(json, f);
  return json;
}

ordered_json SharesJson(const CostSourceShares& shares) {
  ordered_json json = ordered_json::object();
  for (int source = 0; source < kNumCostSources; ++source) {
    json[std::string(ToString(static_cast<CostSource>(source)))] = shares[source];
  }
  return json;
}

ordered_json PlacementJson(const VerifiedPlacement& placement,
                           const Cluster& cluster,
                           const PredictionInterval& interval) {
  ordered_json devices = ordered_json::object();
  for (int d = 0; d < cluster.num_devices(); ++d) {
    devices[cluster.device(d).name] = {{"busy_ns",
                                        {{"simulated", placement.simulated.devices[d].busy},
                                         {"measured", placement.measured.busy[d]}}},
                                       {"peak_bytes",
                                        {{"simulated", placement.simulated.devices[d].peak},
                                         {"executor", placement.measured.peak[d]},
                                         {"arena", placement.measured.arena[d]}}}};
  }
  ordered_json json;
  json["label"] = placement.candidate.label;
  json["simulated_ns"] = placement.simulated.step_time;
  json["searched_ns"] = nullptr;
  if (placement.candidate.searched) json["searched_ns"] = *placement.candidate.searched;
  json["measured_ns"] = {{"median", placement.measured.step.median},
                         {"low", placement.measured.step.low},
                         {"high", placement.measured.step.high},
                         {"steps", placement.measured.step_times}};
  json["error"] = SignedError(placement);
  json["interval_ns"] = nullptr;
  if (interval.is_bounded()) {
    const TimeInterval ends = interval.Around(static_cast<double>(placement.simulated.step_time));
    json["interval_ns"] = {{"low", ends.low}, {"high", ends.high}};
  }
  for (int t = 0; t < kNumStepTraits; ++t) {
    json["traits"][std::string(ToString(static_cast<StepTrait>(t)))] = placement.traits[t];
  }
  json["proxy_share"] = placement.measured.proxy_share;
  json["cost_sources"] = SharesJson(placement.shares);
  json["devices"] = std::move(devices);
  return json;
}

ordered_json SummaryIntervalJson(const VerificationSummary& summary,
                                 const Verification& verification) {
  if (!summary.intervals) return nullptr;
  const PredictionInterval& interval = verification.interval.interval;
  ordered_json json = {{"level", interval.level},
                       {"low_ratio", interval.low},
                       {"high_ratio", interval.high},
                       {"held_out", interval.held_out},
                       {"source", verification.interval.source},
                       {"held_out_coverage", interval.held_out_coverage}};
  AppendJson(json, *summary.intervals);
  return json;
}

ordered_json PairsJson(const VerificationSummary& summary, const Verification& verification) {
  if (!summary.pairs) return nullptr;
  const PairedFidelity& pairs = *summary.pairs;
  return {{"level", kPairedLevel},
          {"rounds", pairs.to_fastest[0].rounds},
          {"fastest", verification.placements[pairs.fastest].candidate.label},
          {"pairs", pairs.pairs},
          {"differing", pairs.differing},
          {"differing_in_order", pairs.in_order}};
}

ordered_json PairedRatioJson(const PairedRatio& ratio) {
  const bool has_ends = ratio.is_bounded();
  return {{"median", ratio.median},
          {"low", has_ends ? ordered_json(ratio.low) : ordered_json(nullptr)},
          {"high", has_ends ? ordered_json(ratio.high) : ordered_json(nullptr)},
          {"differs", ratio.differs()}};
}

}  // namespace

ordered_json ResidualJson(const ResidualReport& report) {
  ordered_json json = ordered_json::object();
  AppendJson(json, report);
  json["traits"] = ordered_json::object();
  for (const TraitCorrelation& trait : report.traits) {
    ordered_json& of_trait = json["traits"][std::string(ToString(trait.trait))];
    AppendJson(of_trait, trait);
    of_trait["systematic"] = trait.is_systematic();
  }
  return json;
}

ordered_json ToJson(const Verification& verification,
                    const VerificationSummary& summary,
                    std::span<const Ablation> ablations) {
  const Problem& problem = *verification.problem;
  ordered_json busy_error = ordered_json::object(), clocks = ordered_json::array();
  for (int d = 0; d < problem.num_devices(); ++d) {
    busy_error[problem.cluster().device(d).name] = summary.busy_error[d];
  }
  const auto add_clocks = [&](const char* when, const std::vector<ClockReading>& readings) {
    for (const ClockReading& reading : readings) {
      clocks.push_back({{"when", when}, {"device", reading.device}, {"mhz", reading.mhz}});
      if (reading.temperature) clocks.back()["celsius"] = *reading.temperature;
    }
  };
  add_clocks("before", verification.clocks_before);
  add_clocks("after", verification.clocks_after);
  ordered_json json;
  json["verdict"] = summary.verdict;
  json["warnings"] = summary.warnings;
  json["graph"] = problem.graph().name();
  json["cluster"] = problem.cluster().name();
  json["mode"] = ToString(verification.mode);
  json["rounds"] = verification.rounds;
  json["seconds"] = verification.seconds;
  json["fidelity"] = summary.fidelity ? FidelityJson(*summary.fidelity) : ordered_json(nullptr);
  json["resolved_difference"] = summary.resolved;
  json["pairs"] = PairsJson(summary, verification);
  json["intervals"] = SummaryIntervalJson(summary, verification);
  json["residuals"] = summary.residuals ? ResidualJson(*summary.residuals) : ordered_json(nullptr);
  json["mape"] = summary.mape;
  json["max_error"] = summary.max_error;
  json["busy_error"] = std::move(busy_error);
  json["equal_peaks"] = summary.equal_peaks;
  json["arena_overhead"] = summary.arena_overhead;
  json["proxy_share"] = summary.proxy_share;
  json["cost_sources"] = SharesJson(summary.shares);
  json["busy_ratio"] = summary.busy_ratio;
  json["reference_drift"] = summary.reference_drift;
  json["clock_change"] = summary.clock_change;
  json["clocks"] = std::move(clocks);
  json["unfitting"] = verification.unfitting;
  json["placements"] = ordered_json::array();
  for (size_t i = 0; i < verification.placements.size(); ++i) {
    ordered_json placement = PlacementJson(
        verification.placements[i], problem.cluster(), verification.interval.interval);
    if (summary.pairs) placement["to_fastest"] = PairedRatioJson(summary.pairs->to_fastest[i]);
    json["placements"].push_back(std::move(placement));
  }
  if (!ablations.empty()) {
    ordered_json list = ordered_json::object();
    for (const Ablation& ablation : ablations)
      list[ablation.name] = FidelityJson(ablation.fidelity);
    json["ablations"] = std::move(list);
  }
  return json;
}

}  // namespace emplace
