#include "experiments/machine/fidelity_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/output.h"
#include "experiments/run/run_table.h"
#include "profilers/measure/calibrate.h"

namespace emplace {
namespace {

using nlohmann::ordered_json;

std::string FormatNanos(double nanos) {
  return FormatTime(static_cast<Nanos>(std::llround(nanos)));
}

std::string FormatTau(double tau) {
  return std::isfinite(tau) ? fmt::format("{:.3f}", tau) : "-";
}

double SignedError(const VerifiedPlacement& placement) {
  return static_cast<double>(placement.simulated.step_time) / placement.measured.step.median - 1;
}

double HalfInterval(const Timing& timing) {
  return timing.median > 0 ? (timing.high - timing.low) / 2 / timing.median : 0;
}

double LargestBusyError(const VerificationSummary& summary) {
  double largest = std::nan("");
  for (double error : summary.busy_error) {
    if (std::isfinite(error) && !(error <= largest)) largest = error;
  }
  return largest;
}

double MeasuredShare(const RungShares& shares) {
  return shares[static_cast<int>(Rung::kMeasured)];
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string MarkdownRule(size_t columns) {
  std::string text = "|---|";
  for (size_t i = 1; i < columns; ++i) text += "---:|";
  return text + "\n";
}

ordered_json NumberOrNull(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json FidelityJson(const Fidelity& f) {
  return {{"placements", f.placements},
          {"repeat_noise", NumberOrNull(f.repeat_noise)},
          {"median_noise", NumberOrNull(f.median_noise)},
          {"mape", NumberOrNull(f.mape)},
          {"max_error", NumberOrNull(f.max_error)},
          {"bias", NumberOrNull(f.bias)},
          {"kendall_tau", NumberOrNull(f.kendall_tau)},
          {"repeat_tau", NumberOrNull(f.repeat_tau)},
          {"pair_accuracy", NumberOrNull(f.pair_accuracy)},
          {"clear_pairs", f.clear_pairs},
          {"top_regret", NumberOrNull(f.top_regret)},
          {"best_regret", NumberOrNull(f.best_regret)}};
}

ordered_json SharesJson(const RungShares& shares) {
  ordered_json json = ordered_json::object();
  for (int rung = 0; rung < kNumRungs; ++rung) {
    json[std::string(ToString(static_cast<Rung>(rung)))] = shares[rung];
  }
  return json;
}

ordered_json PlacementJson(const VerifiedPlacement& placement, const Cluster& cluster) {
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
  json["proxy_share"] = placement.measured.proxy_share;
  json["cost_sources"] = SharesJson(placement.shares);
  json["devices"] = std::move(devices);
  return json;
}

// What a row of the Markdown table shows of one graph, as numbers that can be averaged.
struct RowFigures {
  double noise = 0, mape = 0, max_error = 0, bias = 0, tau = 0, repeat_tau = 0, pairs = 0, top = 0,
         best = 0;
  double busy = 0, arena = 0, proxy = 0, measured = 0;
  int placements = 0, equal_peaks = 0;
};

RowFigures FiguresOf(const GraphFidelity& graph) {
  const Fidelity& f = *graph.summary.fidelity;
  return {.noise = f.median_noise,
          .mape = f.mape,
          .max_error = f.max_error,
          .bias = f.bias,
          .tau = f.kendall_tau,
          .repeat_tau = f.repeat_tau,
          .pairs = f.pair_accuracy,
          .top = f.top_regret,
          .best = f.best_regret,
          .busy = LargestBusyError(graph.summary),
          .arena = graph.summary.arena_overhead,
          .proxy = graph.summary.proxy_share,
          .measured = MeasuredShare(graph.summary.shares),
          .placements = f.placements,
          .equal_peaks = graph.summary.equal_peaks};
}

std::vector<std::string> Cells(const std::string& name, const RowFigures& f) {
  return {name,
          std::to_string(f.placements),
          FormatShare(f.noise),
          FormatShare(f.mape),
          FormatShare(f.max_error),
          FormatShare(f.bias),
          FormatTau(f.tau),
          FormatTau(f.repeat_tau),
          FormatShare(f.pairs, 1),
          FormatShare(f.top),
          FormatShare(f.best),
          FormatShare(f.busy),
          fmt::format("{} of {}", f.equal_peaks, f.placements),
          FormatShare(f.arena, 1),
          FormatShare(1 - f.proxy, 1),
          FormatShare(f.measured, 1)};
}

// Means over graphs that have the figure.
double Mean(const std::vector<RowFigures>& rows, double RowFigures::*figure) {
  double sum = 0;
  int count = 0;
  for (const RowFigures& row : rows) {
    if (!std::isfinite(row.*figure)) continue;
    sum += row.*figure;
    ++count;
  }
  return count > 0 ? sum / count : std::nan("");
}

double Largest(const std::vector<RowFigures>& rows, double RowFigures::*figure) {
  double largest = std::nan("");
  for (const RowFigures& row : rows) {
    if (std::isfinite(row.*figure) && !(row.*figure <= largest)) largest = row.*figure;
  }
  return largest;
}

RowFigures Total(const std::vector<RowFigures>& rows) {
  RowFigures total{.noise = Mean(rows, &RowFigures::noise),
                   .mape = Mean(rows, &RowFigures::mape),
                   .max_error = Largest(rows, &RowFigures::max_error),
                   .bias = Mean(rows, &RowFigures::bias),
                   .tau = Mean(rows, &RowFigures::tau),
                   .repeat_tau = Mean(rows, &RowFigures::repeat_tau),
                   .pairs = Mean(rows, &RowFigures::pairs),
                   .top = Largest(rows, &RowFigures::top),
                   .best = Largest(rows, &RowFigures::best),
                   .busy = Largest(rows, &RowFigures::busy),
                   .arena = Mean(rows, &RowFigures::arena),
                   .proxy = Mean(rows, &RowFigures::proxy),
                   .measured = Mean(rows, &RowFigures::measured)};
  for (const RowFigures& row : rows) {
    total.placements += row.placements;
    total.equal_peaks += row.equal_peaks;
  }
  return total;
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
  return "\n" + text;
}

}  // namespace

std::string FormatShare(double share, int digits) {
  return std::isfinite(share) ? fmt::format("{:.{}f} %", 100 * share, digits) : "-";
}

std::string FormatVerification(const Verification& verification) {
  const Cluster& cluster = verification.problem->cluster();
  std::vector<const VerifiedPlacement*> order;
  for (const VerifiedPlacement& placement : verification.placements) order.push_back(&placement);
  std::stable_sort(
      order.begin(), order.end(), [](const VerifiedPlacement* a, const VerifiedPlacement* b) {
        return a->measured.step.median < b->measured.step.median;
      });
  const bool searched = std::any_of(
      order.begin(), order.end(), [](const auto* p) { return p->candidate.searched.has_value(); });
  std::vector<std::vector<std::string>> rows = {
      {"placement", "measured", "simulated", "error", "noise"}};
  if (searched) rows[0].push_back("the run said");
  for (const std::string& name : cluster.DeviceNames()) {
    rows[0].push_back(fmt::format("busy {} (simulated)", name));
  }
  rows[0].push_back("peak memory");
  for (const VerifiedPlacement* placement : order) {
    const Timing& step = placement->measured.step;
    std::vector<std::string> row = {placement->candidate.label,
                                    fmt::format("{} [{} .. {}]",
                                                FormatNanos(step.median),
                                                FormatNanos(step.low),
                                                FormatNanos(step.high)),
                                    FormatTime(placement->simulated.step_time),
                                    fmt::format("{:+.2f} %", 100 * SignedError(*placement)),
                                    FormatShare(HalfInterval(step))};
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
    text += fmt::format("{:<17}{}\n", name, value);
  };
  const size_t count = verification.placements.size();
  if (summary.fidelity) {
    const Fidelity& f = *summary.fidelity;
    line("noise",
         fmt::format("{} of a step, {} of a median of {} steps",
                     FormatShare(f.repeat_noise),
                     FormatShare(f.median_noise),
                     verification.rounds));
    line("step time error",
         fmt::format("{} mean, {} largest, {} bias, over {} placements",
                     FormatShare(f.mape),
                     FormatShare(f.max_error),
                     FormatShare(f.bias),
                     f.placements));
    line("order",
         fmt::format(
             "Kendall's tau {} (of the repeats among themselves {}), {} of the {} pairs that "
             "differ by more than 5 % in order",
             FormatTau(f.kendall_tau),
             FormatTau(f.repeat_tau),
             FormatShare(f.pair_accuracy, 1),
             f.clear_pairs));
    line("regret",
         fmt::format("{} for the best simulated, {} for the best of the simulated top 10",
                     FormatShare(f.best_regret),
                     FormatShare(f.top_regret)));
  } else {
    line("step time error", FormatShare(summary.max_error));
  }
  std::vector<std::string> busy;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    busy.push_back(
        fmt::format("{} {}", cluster.device(d).name, FormatShare(summary.busy_error[d])));
  }
  line("busy time error", fmt::format("{}", fmt::join(busy, ", ")));
  line("peak memory",
       fmt::format("the plan counts the simulator's for {} of {} placements; arenas {} above",
                   summary.equal_peaks,
                   count,
                   FormatShare(summary.arena_overhead, 1)));
  line("kernels",
       fmt::format("{} of the ops' time real, {} stand-ins",
                   FormatShare(1 - summary.proxy_share, 1),
                   FormatShare(summary.proxy_share, 1)));
  line("op costs from", FormatShares(summary.shares));
  line("dispatch",
       fmt::format("{}; drift of a reference placement {:+.2f} %, of the clocks {:+.2f} %",
                   ToString(verification.mode),
                   100 * summary.reference_drift,
                   100 * summary.clock_change));
  for (const std::string& warning : summary.warnings) line("warning", warning);
  return text;
}

std::string FormatFidelityMarkdown(std::span<const GraphFidelity> graphs) {
  std::vector<RowFigures> figures;
  const std::vector<std::string> header = {"graph",
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
                                           "busy error",
                                           "peaks equal",
                                           "arena above peak",
                                           "real kernels",
                                           "measured costs"};
  std::string text = MarkdownRow(header) + MarkdownRule(header.size());
  for (const GraphFidelity& graph : graphs) {
    figures.push_back(FiguresOf(graph));
    text += MarkdownRow(Cells(graph.verification.problem->graph().name(), figures.back()));
  }
  if (graphs.size() > 1) text += MarkdownRow(Cells("all", Total(figures)));
  return text + AblationMarkdown(graphs);
}

ordered_json ToJson(const Verification& verification,
                    const VerificationSummary& summary,
                    std::span<const Ablation> ablations) {
  const Problem& problem = *verification.problem;
  ordered_json busy_error = ordered_json::object(), clocks = ordered_json::array();
  for (int d = 0; d < problem.num_devices(); ++d) {
    busy_error[problem.cluster().device(d).name] = NumberOrNull(summary.busy_error[d]);
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
  json["graph"] = problem.graph().name();
  json["cluster"] = problem.cluster().name();
  json["mode"] = ToString(verification.mode);
  json["rounds"] = verification.rounds;
  json["seconds"] = verification.seconds;
  json["fidelity"] = summary.fidelity ? FidelityJson(*summary.fidelity) : ordered_json(nullptr);
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
  json["warnings"] = summary.warnings;
  json["unfitting"] = verification.unfitting;
  json["placements"] = ordered_json::array();
  for (const VerifiedPlacement& placement : verification.placements) {
    json["placements"].push_back(PlacementJson(placement, problem.cluster()));
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
