#include "experiments/machine/fidelity_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/run/run_table.h"
#include "profilers/measure/calibrate.h"

namespace emplace {
namespace {

std::string FormatNanos(double nanos) {
  return FormatTime(static_cast<Nanos>(std::llround(nanos)));
}

std::string FormatTau(double tau) {
  return std::isfinite(tau) ? fmt::format("{:.3f}", tau) : "-";
}

double HalfInterval(const Timing& timing) {
  return timing.median > 0 ? (timing.high - timing.low) / 2 / timing.median : 0;
}

// Figures of some graphs; a graph without the figure is left out.
template <class Figure>
std::vector<double> FiguresOf(std::span<const GraphFidelity> graphs, const Figure& figure) {
  std::vector<double> figures;
  for (const GraphFidelity& graph : graphs) {
    if (const double value = figure(graph); std::isfinite(value)) figures.push_back(value);
  }
  return figures;
}

double Mean(const std::vector<double>& figures) {
  if (figures.empty()) return std::nan("");
  const auto count = static_cast<double>(figures.size());
  return std::accumulate(figures.begin(), figures.end(), 0.0) / count;
}

double Largest(const std::vector<double>& figures) {
  double largest = std::nan("");
  for (const double figure : figures) {
    if (std::isfinite(figure) && !(figure <= largest)) largest = figure;
  }
  return largest;
}

double MeasuredShare(const CostSourceShares& shares) {
  return shares[static_cast<int>(CostSource::kMeasured)];
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string MarkdownRule(size_t columns) {
  std::string text = "|---|";
  for (size_t i = 1; i < columns; ++i) text += "---:|";
  return text + "\n";
}

// The columns of the Markdown table.
const std::vector<std::string> kFidelityColumns = {"graph",
                                                   "placements",
                                                   "noise",
                                                   "MAPE",
                                                   "largest error",
                                                   "bias",
                                                   "Kendall's tau",
                                                   "tau of repeats",
                                                   "pairs in order",
                                                   "top-10 regret",
                                                   "best regret",
                                                   "90 % interval",
                                                   "covers",
                                                   "differing pairs in order",
                                                   "busy error",
                                                   "peaks equal",
                                                   "arena above peak",
                                                   "real kernels",
                                                   "measured costs"};

// Returns the row of one graph, or of several together: means, but the largest errors and regrets,
// and the share of all placements that the intervals cover.
std::vector<std::string> Cells(const std::string& name, std::span<const GraphFidelity> graphs) {
  int placements = 0, equal_peaks = 0;
  double covered = 0, with_interval = 0;
  for (const auto& [verification, summary, ablations] : graphs) {
    placements += summary.fidelity->placements;
    equal_peaks += summary.equal_peaks;
    if (!summary.intervals) continue;
    covered += summary.intervals->covered;
    with_interval += summary.fidelity->placements;
  }
  const auto figures = [&](double Fidelity::*figure) {
    return FiguresOf(graphs, [&](const auto& graph) { return (*graph.summary.fidelity).*figure; });
  };
  const auto mean = [&](const auto& figure) {
    return Mean(FiguresOf(graphs, [&](const auto& graph) { return figure(graph.summary); }));
  };
  const auto end_of_interval = [&](double PredictionInterval::*end) {
    return Mean(FiguresOf(graphs, [&](const GraphFidelity& graph) {
      return graph.summary.intervals ? graph.verification.interval.interval.*end : std::nan("");
    }));
  };
  const double low = end_of_interval(&PredictionInterval::low);
  const double high = end_of_interval(&PredictionInterval::high);
  return {name,
          std::to_string(placements),
          FormatShare(Mean(figures(&Fidelity::median_noise))),
          FormatShare(Mean(figures(&Fidelity::mape))),
          FormatShare(Largest(figures(&Fidelity::max_error))),
          FormatShare(Mean(figures(&Fidelity::bias))),
          FormatTau(Mean(figures(&Fidelity::kendall_tau))),
          FormatTau(Mean(figures(&Fidelity::repeat_tau))),
          FormatShare(Mean(figures(&Fidelity::pair_accuracy)), 1),
          FormatShare(Largest(figures(&Fidelity::top_regret))),
          FormatShare(Largest(figures(&Fidelity::best_regret))),
          std::isfinite(high) ? FormatRatios({.low = low, .high = high}) : "-",
          FormatShare(with_interval > 0 ? covered / with_interval : std::nan(""), 1),
          FormatShare(mean([](const auto& summary) { return summary.pairs->in_order; }), 1),
          FormatShare(Largest(FiguresOf(
              graphs, [](const auto& graph) { return Largest(graph.summary.busy_error); }))),
          fmt::format("{} of {}", equal_peaks, placements),
          FormatShare(mean([](const auto& summary) { return summary.arena_overhead; }), 1),
          FormatShare(1 - mean([](const auto& summary) { return summary.proxy_share; }), 1),
          FormatShare(mean([](const auto& summary) { return MeasuredShare(summary.shares); }), 1)};
}

std::string AblationMarkdown(std::span<const GraphFidelity> graphs) {
  std::vector<std::string> header = {"MAPE / Kendall's tau", "full model"};
  for (const Ablation& ablation : graphs[0].ablations) header.push_back(ablation.name);
  if (header.size() == 2) return "";
  std::string text = MarkdownRow(header) + MarkdownRule(header.size());
  const auto cell = [](const Fidelity& f) {
    return fmt::format("{} / {}", FormatShare(f.mape), FormatTau(f.kendall_tau));
  };
  for (const GraphFidelity& graph : graphs) {
    std::vector<std::string> cells = {graph.verification.problem->graph().name(),
                                      cell(*graph.summary.fidelity)};
    for (const Ablation& ablation : graph.ablations) cells.push_back(cell(ablation.fidelity));
    text += MarkdownRow(cells);
  }
  return "\n" + text +
         "\nErrors without parts of the model. interference: devices slow one another down; cold "
         "reads: a tensor from another device is not in\nany cache; isolated op costs: ops timed "
         "alone; calibrated before: the costs of the profile, not of these rounds\n";
}

}  // namespace

std::string FormatShare(double share, int digits) {
  return std::isfinite(share) ? fmt::format("{:.{}f} %", 100 * share, digits) : "-";
}

std::string FormatVerification(const Verification& verification,
                               const VerificationSummary& summary) {
  const Cluster& cluster = verification.problem->cluster();
  const std::vector<VerifiedPlacement>& placements = verification.placements;
  std::vector<size_t> order(placements.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return placements[i].measured.step.median; });
  const bool searched = std::ranges::any_of(
      placements, [](const auto& p) { return p.candidate.searched.has_value(); });
  std::vector<std::vector<std::string>> rows = {
      {"placement", "measured [95 %]", "simulated", "error", "noise"}};
  if (summary.pairs) rows[0].push_back("against the fastest [95 %]");
  const PredictionInterval& interval = verification.interval.interval;
  if (interval.is_bounded()) {
    const std::string level = fmt::format("{:.0f} % interval", 100 * interval.level);
    rows[0].insert(rows[0].end(), {level, "covers"});
  }
  if (searched) rows[0].push_back("the run said");
  for (const std::string& name : cluster.DeviceNames()) {
    rows[0].push_back(fmt::format("busy {} (simulated)", name));
  }
  rows[0].push_back("peak memory");
  for (const size_t i : order) {
    const VerifiedPlacement* placement = &placements[i];
    const Timing& step = placement->measured.step;
    std::vector<std::string> row = {placement->candidate.label,
                                    fmt::format("{} [{} .. {}]",
                                                FormatNanos(step.median),
                                                FormatNanos(step.low),
                                                FormatNanos(step.high)),
                                    FormatTime(placement->simulated.step_time),
                                    fmt::format("{:+.2f} %", 100 * SignedError(*placement)),
                                    FormatShare(HalfInterval(step))};
    if (summary.pairs) {
      row.push_back(static_cast<int>(i) == summary.pairs->fastest
                        ? "fastest"
                        : FormatAgainstFastest(summary.pairs->to_fastest[i]));
    }
    if (interval.is_bounded()) {
      const TimeInterval ends =
          interval.Around(static_cast<double>(placement->simulated.step_time));
      row.insert(row.end(), {FormatInterval(ends), ends.Contains(step.median) ? "yes" : "no"});
    }
    if (searched) {
      row.push_back(placement->candidate.searched ? FormatTime(*placement->candidate.searched)
                                                  : "-");
    }
    bool equal = true;
    std::int64_t total = 0;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      row.push_back(fmt::format("{} ({})",
                                FormatTime(placement->measured.busy[d]),
                                FormatTime(placement->simulated.devices[d].busy)));
      equal = equal && placement->measured.peak[d] == placement->simulated.devices[d].peak;
      total += placement->measured.peak[d];
    }
    row.push_back(fmt::format("{}, {}", FormatBytes(total), equal ? "as simulated" : "differs"));
    rows.push_back(std::move(row));
  }
  std::string text = FormatColumns(rows);
  for (const std::string& unfitting : verification.unfitting) text += unfitting + "\n";
  return text;
}

std::string FormatSummary(const VerificationSummary& summary, const Verification& verification) {
  const Cluster& cluster = verification.problem->cluster();
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += SummaryLine(name, value);
  };
  const size_t count = verification.placements.size();
  line("verdict", verification.problem->graph().name() + ": " + summary.verdict);
  for (const std::string& warning : summary.warnings) line("warning", warning);
  if (summary.fidelity) {
    const Fidelity& f = *summary.fidelity;
    line("step time error",
         fmt::format("{} mean, {} largest, {} bias, over {} placements",
                     FormatShare(f.mape),
                     FormatShare(f.max_error),
                     FormatShare(f.bias),
                     f.placements));
    line("order",
         fmt::format("{} of the {} clear pairs (measured more than 5 % apart) in order; rank "
                     "correlation (Kendall's tau) {}, of the repeats among themselves {}",
                     FormatShare(f.pair_accuracy, 1),
                     f.clear_pairs,
                     FormatTau(f.kendall_tau),
                     FormatTau(f.repeat_tau)));
    line("choice",
         fmt::format("the best simulated placement takes {} longer than the best measured one; the "
                     "best of the simulated top 10 takes {} longer",
                     FormatShare(f.best_regret),
                     FormatShare(f.top_regret)));
    text += FormatPairSummary(summary, verification);
    line("noise",
         fmt::format("single steps of a placement vary by {}; medians of the first and the second "
                     "half of its {} rounds differ by {}",
                     FormatShare(f.repeat_noise),
                     verification.rounds,
                     FormatShare(f.median_noise)));
  } else {
    line("step time error", FormatShare(summary.max_error));
  }
  line("drift",
       fmt::format("the step time of \"{}\" changed by {:+.2f} % from the beginning to the end; "
                   "clocks changed by {:+.2f} %",
                   verification.placements[0].candidate.label,
                   100 * summary.reference_drift,
                   100 * summary.clock_change));
  text += FormatIntervalSummary(summary, verification);
  std::vector<std::string> busy;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    busy.push_back(
        fmt::format("{} {}", cluster.device(d).name, FormatShare(summary.busy_error[d])));
  }
  line("busy time error", fmt::format("{}", fmt::join(busy, ", ")));
  line("op costs from",
       fmt::format("{} (of the simulated ops' time; the rest is estimated)",
                   FormatShares(summary.shares)));
  line("kernels",
       fmt::format("{} of the ops' time real, {} stand-ins (kernels of about the same work, for "
                   "ops without a kernel in emplace)",
                   FormatShare(1 - summary.proxy_share, 1),
                   FormatShare(summary.proxy_share, 1)));
  line("peak memory",
       fmt::format("the plan's peak is as simulated for {} of {} placements; its arenas "
                   "take {} more (gaps between tensors)",
                   summary.equal_peaks,
                   count,
                   FormatShare(summary.arena_overhead, 1)));
  line("dispatch",
       fmt::format("{}: {}",
                   ToString(verification.mode),
                   verification.mode == DispatchMode::kGraph ? "steps are issued as captured graphs"
                                                             : "steps are issued op by op"));
  return text;
}

std::string FormatFidelityMarkdown(std::span<const GraphFidelity> graphs) {
  std::string text = MarkdownRow(kFidelityColumns) + MarkdownRule(kFidelityColumns.size());
  for (size_t i = 0; i < graphs.size(); ++i) {
    text +=
        MarkdownRow(Cells(graphs[i].verification.problem->graph().name(), graphs.subspan(i, 1)));
  }
  if (graphs.size() > 1) text += MarkdownRow(Cells("all", graphs));
  text +=
      "\nnoise: difference between the medians of the two halves of the rounds; MAPE: mean "
      "absolute error; tau: rank correlation (Kendall);\npairs in order: share of the pairs "
      "measured more than 5 % apart; regret: extra time of the best simulated placement, or of the "
      "best\nof the simulated top 10, over the best measured one; arena: allocated memory\n";
  text += AblationMarkdown(graphs);
  if (const auto residuals = PooledResiduals(graphs)) {
    text += "\n" + FormatResidualMarkdown(*residuals);
  }
  return text;
}

std::optional<ResidualReport> PooledResiduals(std::span<const GraphFidelity> graphs) {
  std::vector<std::vector<ResidualPoint>> points;
  for (const GraphFidelity& graph : graphs) points.push_back(ResidualPoints(graph.verification));
  return TestResiduals(points);
}

}  // namespace emplace
