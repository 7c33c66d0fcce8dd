// The parts of fidelity_report.h on the accuracy of the simulation
// (profilers/statistics/prediction_interval.h), on differences between placements (paired_ratio.h)
// and on systematic errors (residuals.h).

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/machine/fidelity_report.h"

namespace emplace {
namespace {

std::string FormatCorrelation(double r) {
  return std::isfinite(r) ? fmt::format("{:+.3f}", r) : "-";
}

// Formats a slope in the common unit of the trait.
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
  const std::string all = fmt::format("the largest correlation exceeds that of {} of the shuffles",
                                      FormatShare(report.largest_above, 1));
  if (above.empty()) {
    return fmt::format(
        "Nothing systematic: no correlation exceeds those of 95 of 100 shuffles of the errors "
        "({}).",
        all);
  }
  return fmt::format(
      "Systematic: the correlations with {} exceed those of 95 of 100 shuffles of the errors ({}).",
      fmt::join(above, ", "),
      all);
}

// Lists the first few names and the number of further ones.
std::string Listed(std::vector<std::string> names) {
  constexpr size_t kMost = 4;
  if (names.empty()) return "none";
  const size_t count = names.size();
  names.resize(std::min(count, kMost));
  return fmt::format("{}", fmt::join(names, ", ")) +
         (count > kMost ? fmt::format(" and {} more", count - kMost) : "");
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
  const std::string covered =
      std::isfinite(interval.held_out_coverage)
          ? fmt::format(" (of which it covers {})", FormatShare(interval.held_out_coverage, 1))
          : "";
  return SummaryLine(
             "interval",
             fmt::format(
                 "{:.0f} % of measured times differ from simulated ones by {}, according to {}{}",
                 100 * interval.level,
                 FormatRatios(interval),
                 step.source,
                 covered)) +
         SummaryLine("coverage",
                     fmt::format("{} of {} placements ({}); {} of their single steps",
                                 f.covered,
                                 verification.placements.size(),
                                 FormatShare(f.coverage, 1),
                                 FormatShare(f.repeat_coverage, 1)));
}

std::string FormatPairSummary(const VerificationSummary& summary,
                              const Verification& verification) {
  const PairedFidelity& pairs = *summary.pairs;
  const auto label = [&](size_t i) {
    return "\"" + verification.placements[i].candidate.label + "\"";
  };
  const int rounds = pairs.to_fastest[0].rounds;
  if (rounds < kLeastPairedRounds) {
    return SummaryLine("fastest",
                       fmt::format("{} by its median; {} rounds are too few to distinguish "
                                   "placements; expected at least {}",
                                   label(pairs.fastest),
                                   rounds,
                                   kLeastPairedRounds));
  }
  std::vector<std::string> alike;
  for (size_t i = 0; i < pairs.to_fastest.size(); ++i) {
    if (static_cast<int>(i) != pairs.fastest && !pairs.to_fastest[i].differs()) {
      alike.push_back(label(i));
    }
  }
  return SummaryLine("fastest",
                     fmt::format("{}; not distinguishable from it in {} rounds: {}",
                                 label(pairs.fastest),
                                 rounds,
                                 Listed(alike))) +
         SummaryLine(
             "pairs",
             fmt::format(
                 "{} of {} differ (the {:.0f} % interval of the median ratio of steps of the same "
                 "round does not contain 1); {} of these are simulated in that order",
                 pairs.differing,
                 pairs.pairs,
                 100 * kPairedLevel,
                 FormatShare(pairs.in_order, 1)));
}

std::string FormatAgainstFastest(const PairedRatio& ratio) {
  std::string text = fmt::format("{:+.1f} %", 100 * (ratio.median - 1));
  if (!ratio.is_bounded()) return text;
  text += fmt::format(" [{:+.1f} .. {:+.1f} %]", 100 * (ratio.low - 1), 100 * (ratio.high - 1));
  return text + (ratio.differs() ? "" : ", not distinguishable");
}

std::string FormatResidualMarkdown(const ResidualReport& report) {
  std::vector<std::vector<std::string>> lines = {
      {fmt::format("correlation of the errors of {} placements of {} graphs with",
                   report.placements,
                   report.graphs),
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
