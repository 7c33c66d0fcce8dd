#include "experiments/machine/interval_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "experiments/machine/fidelity_report.h"
#include "experiments/output.h"

namespace emplace {
namespace {

std::string FormatCorrelation(double r) {
  return std::isfinite(r) ? fmt::format("{:+.3f}", r) : "-";
}

// In the unit that people think of the trait in.
std::string FormatSlope(const TraitCorrelation& trait) {
  if (!std::isfinite(trait.slope)) return "-";
  switch (trait.trait) {
    case StepTrait::kCrossingBytes:
      return fmt::format("{:+.1f} us per MB", trait.slope * 1e6 / 1e3);
    case StepTrait::kCrossings:
      return fmt::format("{:+.2f} us each", trait.slope / 1e3);
    case StepTrait::kOverlap:
      return fmt::format("{:+.2f} ms from none to all", trait.slope / 1e6);
    case StepTrait::kStepTime:
      return fmt::format("{:+.2f} % of it", trait.slope * 100);
  }
  return "";
}

std::string Verdict(const ResidualReport& report) {
  std::vector<std::string> above;
  for (const TraitCorrelation& trait : report.traits) {
    if (trait.is_systematic()) above.emplace_back(ToString(trait.trait));
  }
  const std::string all = fmt::format("the largest of the correlations is above that of {}",
                                      FormatShare(report.largest_above, 1));
  if (above.empty()) {
    return fmt::format(
        "Nothing systematic: errors go with none of these more than shuffled ones do in 95 of 100 "
        "shuffles ({}).",
        all);
  }
  return fmt::format(
      "Systematic: errors go with {} more than shuffled ones do in 95 of 100 shuffles ({}).",
      fmt::join(above, ", "),
      all);
}

}  // namespace

std::string SummaryLine(const char* name, const std::string& value) {
  return fmt::format("{:<17}{}\n", name, value);
}

std::string FormatIntervalSummary(const VerificationSummary& summary,
                                  const Verification& verification) {
  const StepInterval& step = verification.interval;
  const PredictionInterval& interval = step.interval;
  if (!summary.intervals) {
    return SummaryLine("interval",
                       fmt::format("none: {}; expected at least {:.0f}",
                                   step.source,
                                   std::ceil(kIntervalLevel / (1 - kIntervalLevel) - 1e-9)));
  }
  const IntervalFidelity& f = *summary.intervals;
  std::string text =
      SummaryLine("interval",
                  fmt::format("{:.0f} % of measured times are {} from simulated ones, by {} (of "
                              "which it covers {})",
                              100 * interval.level,
                              FormatRatios(interval),
                              step.source,
                              FormatShare(interval.held_out_coverage, 1)));
  text += SummaryLine("coverage",
                      fmt::format("{} of {} placements ({}); {} of their single steps",
                                  f.covered,
                                  verification.placements.size(),
                                  FormatShare(f.coverage, 1),
                                  FormatShare(f.repeat_coverage, 1)));
  if (f.equal_pairs + f.distinct_pairs == 0) return text;
  return text + SummaryLine("called equal",
                            fmt::format("{} of {} pairs, whose intervals overlap; {} of the {} "
                                        "others measured in that order; {} placements are equal "
                                        "to the best simulated one, itself included",
                                        f.equal_pairs,
                                        f.equal_pairs + f.distinct_pairs,
                                        FormatShare(f.distinct_accuracy, 1),
                                        f.distinct_pairs,
                                        f.equal_to_best));
}

bool IsEqualToBest(const Verification& verification, const VerifiedPlacement& placement) {
  const auto time = [](const VerifiedPlacement& p) { return p.simulated.step_time; };
  const auto best =
      std::min_element(verification.placements.begin(),
                       verification.placements.end(),
                       [&](const auto& a, const auto& b) { return time(a) < time(b); });
  const PredictionInterval& interval = verification.interval.interval;
  return interval.Around(static_cast<double>(time(placement)))
      .Overlaps(interval.Around(static_cast<double>(time(*best))));
}

std::string FormatResidualMarkdown(const ResidualReport& report) {
  std::vector<std::vector<std::string>> lines = {
      {fmt::format("errors of {} placements, {} graphs, go with", report.placements, report.graphs),
       "Pearson",
       "above shuffled",
       "Spearman",
       "above shuffled",
       "measured - simulated"}};
  for (const TraitCorrelation& trait : report.traits) {
    lines.push_back({std::string(ToString(trait.trait)),
                     FormatCorrelation(trait.pearson),
                     FormatShare(trait.pearson_above, 1),
                     FormatCorrelation(trait.spearman),
                     FormatShare(trait.spearman_above, 1),
                     FormatSlope(trait)});
  }
  return MarkdownLines(lines, 1) + "\n" + Verdict(report) + "\n";
}

}  // namespace emplace
