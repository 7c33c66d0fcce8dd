#include "experiments/machine/profile_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "experiments/machine/fidelity_report.h"
#include "experiments/machine/verdict.h"
#include "experiments/problem/step_interval.h"
#include "framework/cost/op_signature.h"

namespace emplace {
namespace {

using nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kLargestOps = 8, kProxyKinds = 5;
constexpr size_t kSignatureWidth = 72;
constexpr double kContention = 1.05;  // smallest slowdown in the report
constexpr double kGoodFit = 0.15;     // acceptable error for ops without a measurement

std::string FormatKernelTime(double nanos) {
  if (std::abs(nanos) < 1000) return fmt::format("{:.1f} ns", nanos);
  return FormatTime(static_cast<Nanos>(std::llround(nanos)));
}

std::string FormatRate(double bytes_per_second) {
  return fmt::format("{:.2f} GB/s", bytes_per_second / 1e9);
}

std::string Clipped(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

// The time of the ops of one signature in a step of a graph.
struct OpShare {
  const OpMeasurement* op = nullptr;
  int count = 0;
  double time = 0;  // [ns]
};

// The time of the measured ops of a graph on a device kind.
struct GraphTime {
  std::string graph, kind;
  int ops = 0;                             // measured ones
  double total = 0, proxy = 0;             // [ns]
  std::map<std::string, double> proxy_of;  // op kind -> [ns]
  std::vector<OpShare> shares;             // largest first
  // Accuracy of predictions without the measurements: leave-one-out errors of the fits of the ops'
  // kinds, else of their classes.
  double fit_error = 0;    // largest error of half of the time; infinite: half of it has no fit
  double well_fitted = 0;  // [ns] with an error of at most kGoodFit
};

double FitError(const KindCosts& kind, const OpMeasurement& op) {
  if (const auto fit = kind.by_op.find(op.kind); fit != kind.by_op.end()) return fit->second.error;
  const auto fit = kind.by_class.find(std::string(ToString(op.op_class)));
  return fit != kind.by_class.end() ? fit->second.error : std::numeric_limits<double>::infinity();
}

void AccountFits(const KindCosts& kind, GraphTime& account) {
  std::vector<std::pair<double, double>> errors;  // error, time
  for (const OpShare& share : account.shares) {
    errors.emplace_back(FitError(kind, *share.op), share.time);
    if (errors.back().first <= kGoodFit) account.well_fitted += share.time;
  }
  std::sort(errors.begin(), errors.end());
  double time = 0;
  for (const auto& [error, of_time] : errors) {
    time += of_time;
    account.fit_error = error;
    if (2 * time >= account.total) break;
  }
}

GraphTime Account(const Graph& graph, const KindCosts& kind) {
  GraphTime account{.graph = graph.name(), .kind = kind.kind.name};
  std::map<const OpMeasurement*, OpShare> shares;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const OpMeasurement* op = kind.Find(OpSignature(graph, v));
    const std::optional<double> time = op != nullptr ? op->Time() : std::nullopt;
    if (!time) continue;
    ++account.ops;
    account.total += *time;
    OpShare& share = shares[op];
    share.op = op;
    ++share.count;
    share.time += *time;
    if (!op->is_proxy) continue;
    account.proxy += *time;
    account.proxy_of[op->kind] += *time;
  }
  for (const auto& [op, share] : shares) account.shares.push_back(share);
  std::sort(account.shares.begin(), account.shares.end(), [](const OpShare& a, const OpShare& b) {
    return a.time != b.time ? a.time > b.time : a.op->signature < b.op->signature;
  });
  AccountFits(kind, account);
  return account;
}

std::vector<GraphTime> AccountAll(const CostTable& table,
                                  std::span<const std::shared_ptr<const Graph>> graphs) {
  std::vector<GraphTime> accounts;
  for (const auto& graph : graphs) {
    for (const KindCosts& kind : table.kinds) accounts.push_back(Account(*graph, kind));
  }
  return accounts;
}

// Returns how many ops have the timing.
std::ptrdiff_t CountTimed(const KindCosts& kind, std::optional<Timing> OpMeasurement::*timing) {
  return std::ranges::count_if(kind.ops,
                               [&](const OpMeasurement& op) { return (op.*timing).has_value(); });
}

std::string KindsText(const CostTable& table) {
  Rows rows = {{"device kind", "signatures", "alone", "cold", "in steps", "stand-ins"}};
  for (const KindCosts& kind : table.kinds) {
    rows.push_back({kind.kind.name,
                    std::to_string(kind.ops.size()),
                    std::to_string(CountTimed(kind, &OpMeasurement::isolated)),
                    std::to_string(CountTimed(kind, &OpMeasurement::cold)),
                    std::to_string(CountTimed(kind, &OpMeasurement::in_situ)),
                    std::to_string(std::ranges::count(kind.ops, true, &OpMeasurement::is_proxy))});
  }
  return FormatColumns(rows) +
         "signatures: ops that differ; alone: timed in a loop, with warm caches; cold: with "
         "flushed caches (--cold);\nin steps: timed within whole steps (in_situ in the cost file); "
         "stand-ins: timed with a kernel of about the same work,\nfor ops without a kernel in "
         "emplace\n";
}

std::vector<std::pair<std::string, double>> LargestProxies(const GraphTime& account) {
  std::vector<std::pair<std::string, double>> kinds(account.proxy_of.begin(),
                                                    account.proxy_of.end());
  std::stable_sort(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (kinds.size() > kProxyKinds) kinds.resize(kProxyKinds);
  return kinds;
}

std::string GraphsText(const std::vector<GraphTime>& accounts) {
  std::string text;
  for (const GraphTime& account : accounts) {
    if (account.ops == 0) continue;
    text += fmt::format("\n{} on {}: {} of ops in a step; real kernels {}, stand-ins {}",
                        account.graph,
                        account.kind,
                        FormatKernelTime(account.total),
                        FormatShare(1 - account.proxy / account.total, 1),
                        FormatShare(account.proxy / account.total, 1));
    std::vector<std::string> proxies;
    for (const auto& [kind, time] : LargestProxies(account)) {
      proxies.push_back(fmt::format("{} {}", kind, FormatShare(time / account.total, 1)));
    }
    text += proxies.empty() ? "\n" : fmt::format(" ({})\n", fmt::join(proxies, ", "));
    Rows rows = {{"largest ops", "times", "each", "share"}};
    for (const OpShare& share : account.shares) {
      if (rows.size() > kLargestOps) break;
      rows.push_back({Clipped(share.op->signature, kSignatureWidth),
                      std::to_string(share.count),
                      FormatKernelTime(share.time / share.count),
                      FormatShare(share.time / account.total, 1)});
    }
    text += FormatColumns(rows);
    text += fmt::format(
        "estimated from the other measurements instead: {} for half of the time, at most {} for "
        "{}\n",
        std::isfinite(account.fit_error)
            ? fmt::format("an error of at most {}", FormatShare(account.fit_error, 1))
            : "no fit",
        FormatShare(kGoodFit, 0),
        FormatShare(account.well_fitted / account.total, 1));
  }
  return text;
}

void AddFits(Rows& rows,
             const std::string& kind,
             const char* source,
             const std::map<std::string, RooflineFit>& fits) {
  for (const auto& [name, fit] : fits) {
    rows.push_back({kind,
                    source,
                    name,
                    std::to_string(fit.samples),
                    FormatShare(fit.error, 1),
                    FormatShare(fit.error_p90, 1)});
  }
}

std::string LadderText(const CostTable& table) {
  Rows rows = {{"fits", "by", "of", "signatures", "error", "90 % below"}};
  for (const KindCosts& kind : table.kinds) {
    AddFits(rows, kind.kind.name, "op kind", kind.by_op);
    AddFits(rows, kind.kind.name, "op class", kind.by_class);
  }
  if (rows.size() == 1) return "";
  return "\n" + FormatColumns(rows) +
         "fits: estimate the times of ops that were not measured; error: median error of "
         "predicting each measured signature\nfrom the others\n";
}

std::string LinksText(const CostTable& table) {
  if (table.links.empty()) return "";
  Rows rows = {{"link", "memory", "sizes", "from", "latency", "bandwidth", "largest error"}};
  for (const LinkMeasurement& link : table.links) {
    bool first = true;
    for (const LinkRange& range : link.ranges) {
      rows.push_back({first ? fmt::format("{}->{}", link.from, link.to) : "",
                      first ? link.memory : "",
                      first ? std::to_string(link.points.size()) : "",
                      FormatBytes(range.from_bytes),
                      FormatKernelTime(range.latency_ns),
                      FormatRate(range.bytes_per_second),
                      first ? FormatShare(link.max_relative_error, 1) : ""});
      first = false;
    }
  }
  std::string text = "\n" + FormatColumns(rows) +
                     "from: least size for which latency and bandwidth hold; memory in_situ: "
                     "copies within whole steps\n";
  for (const Slowdown& slowdown : table.link_contention) {
    if (slowdown.factor < kContention) continue;
    text += fmt::format("{} takes {:.2f} times as long while {} runs\n",
                        slowdown.victim,
                        slowdown.factor,
                        slowdown.aggressor);
  }
  return text;
}

bool IsNoise(const Slowdown& slowdown) {
  return slowdown.factor < 1;
}

// Returns the slowdowns by interference, and the errors of the modelled products where both are
// known. No op runs faster because of neighbours: a factor below 1 is noise, and shown as 1.
std::string InterferenceText(const CostTable& table) {
  Rows rows = {{"interference", "beside", "times as long", "95 % interval", "modelled"}};
  double least = 1;
  for (const Slowdown& slowdown : table.interference) {
    least = std::min(least, slowdown.factor);
    rows.push_back(
        {slowdown.victim,
         slowdown.aggressor,
         IsNoise(slowdown) ? "1.00 (noise)" : fmt::format("{:.2f}", slowdown.factor),
         fmt::format("{:.2f} .. {:.2f}", std::max(1.0, slowdown.low), std::max(1.0, slowdown.high)),
         slowdown.modelled > 0 ? fmt::format("{:.2f}", slowdown.modelled) : ""});
  }
  if (rows.size() == 1) return "";
  std::string text = "\n" + FormatColumns(rows);
  if (least < 1) {
    text += fmt::format(
        "noise: measured up to {} faster than alone, although a neighbour cannot make an op "
        "faster\n",
        FormatShare(1 - least, 0));
  }
  return text;
}

std::string DispatchText(const CostTable& table) {
  if (table.dispatch.empty()) return "";
  Rows rows = {{"dispatch", "null kernel", "launch", "issue", "graph launch", "wait"}};
  for (const DispatchCosts& dispatch : table.dispatch) {
    rows.push_back({dispatch.device_kind,
                    FormatKernelTime(dispatch.null_kernel_ns),
                    FormatKernelTime(dispatch.launch_ns),
                    FormatKernelTime(dispatch.issue_ns),
                    FormatKernelTime(dispatch.graph_launch_ns),
                    FormatKernelTime(dispatch.wait_ns)});
  }
  return "\n" + FormatColumns(rows);
}

// Errors of the simulation of held-out placements of a graph.
struct HeldOutError {
  std::string graph;
  int placements = 0;
  double mape = 0;
  PredictionInterval interval;
};

std::vector<HeldOutError> HeldOutErrors(const CostTable& table) {
  std::map<std::string, std::vector<HeldOutStep>> by_graph;
  for (const HeldOutStep& step : table.held_out) by_graph[step.graph].push_back(step);
  std::vector<HeldOutError> errors;
  for (const auto& [graph, steps] : by_graph) {
    HeldOutError error{.graph = graph, .placements = static_cast<int>(steps.size())};
    for (const HeldOutStep& step : steps) {
      error.mape += std::abs(step.simulated_ns / step.measured_ns - 1) / error.placements;
    }
    error.interval = MakeInterval(steps, "").interval;
    errors.push_back(std::move(error));
  }
  return errors;
}

std::string HeldOutText(const CostTable& table) {
  Rows rows = {{"held-out steps", "placements", "mean error", "90 % interval"}};
  for (const HeldOutError& error : HeldOutErrors(table)) {
    rows.push_back({error.graph,
                    std::to_string(error.placements),
                    FormatShare(error.mape, 1),
                    FormatRatios(error.interval)});
  }
  if (rows.size() == 1) return "";
  return FormatColumns(rows) +
         "held-out steps: executed steps that were not used to calibrate the costs that simulate "
         "them\n\n";
}

ordered_json FitsJson(const std::map<std::string, RooflineFit>& fits) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, fit] : fits) {
    json[name] = {{"signatures", fit.samples}, {"error", fit.error}, {"error_p90", fit.error_p90}};
  }
  return json;
}

}  // namespace

std::string FormatProfileReport(const CostTable& table,
                                std::span<const std::shared_ptr<const Graph>> graphs,
                                double seconds) {
  std::string text = fmt::format("verdict  {}\n", VerdictOf(table));
  for (const std::string& warning : table.warnings) text += fmt::format("warning  {}\n", warning);
  text += fmt::format("machine  {}\nseconds  {:.1f}\n\n", table.machine, seconds);
  return text + HeldOutText(table) + KindsText(table) + GraphsText(AccountAll(table, graphs)) +
         LadderText(table) + LinksText(table) + InterferenceText(table) + DispatchText(table);
}

ordered_json ProfileReportJson(const CostTable& table,
                               std::span<const std::shared_ptr<const Graph>> graphs,
                               double seconds) {
  ordered_json json;
  json["verdict"] = VerdictOf(table);
  json["machine"] = table.machine;
  json["complete"] = table.complete;
  json["seconds"] = seconds;
  json["kinds"] = ordered_json::array();
  for (const KindCosts& kind : table.kinds) {
    json["kinds"].push_back(
        {{"name", kind.kind.name},
         {"signatures", kind.ops.size()},
         {"isolated", CountTimed(kind, &OpMeasurement::isolated)},
         {"cold", CountTimed(kind, &OpMeasurement::cold)},
         {"in_situ", CountTimed(kind, &OpMeasurement::in_situ)},
         {"proxies", std::ranges::count(kind.ops, true, &OpMeasurement::is_proxy)},
         {"by_op", FitsJson(kind.by_op)},
         {"by_class", FitsJson(kind.by_class)}});
  }
  json["graphs"] = ordered_json::array();
  for (const GraphTime& account : AccountAll(table, graphs)) {
    ordered_json proxies = ordered_json::object(), ops = ordered_json::array();
    for (const auto& [kind, time] : account.proxy_of) proxies[kind] = time;
    for (const OpShare& share : account.shares) {
      if (ops.size() == kLargestOps) break;
      ops.push_back(
          {{"signature", share.op->signature}, {"times", share.count}, {"total_ns", share.time}});
    }
    json["graphs"].push_back({{"graph", account.graph},
                              {"kind", account.kind},
                              {"measured_ops", account.ops},
                              {"total_ns", account.total},
                              {"proxy_ns", account.proxy},
                              {"proxies", proxies},
                              {"fit_error", account.fit_error},
                              {"well_fitted_ns", account.well_fitted},
                              {"largest_ops", ops}});
  }
  json["links"] = ordered_json::array();
  for (const LinkMeasurement& link : table.links) {
    ordered_json ranges = ordered_json::array();
    for (const LinkRange& range : link.ranges) {
      ranges.push_back({{"from_bytes", range.from_bytes},
                        {"latency_ns", range.latency_ns},
                        {"bytes_per_second", range.bytes_per_second}});
    }
    json["links"].push_back({{"from", link.from},
                             {"to", link.to},
                             {"memory", link.memory},
                             {"sizes", link.points.size()},
                             {"ranges", ranges},
                             {"max_relative_error", link.max_relative_error}});
  }
  json["interference"] = ordered_json::array();
  for (const Slowdown& slowdown : table.interference) {
    json["interference"].push_back({{"victim", slowdown.victim},
                                    {"aggressor", slowdown.aggressor},
                                    {"factor", slowdown.factor},
                                    {"low", slowdown.low},
                                    {"high", slowdown.high},
                                    {"noise", IsNoise(slowdown)},
                                    {"modelled", slowdown.modelled}});
  }
  json["dispatch"] = ordered_json::array();
  for (const DispatchCosts& dispatch : table.dispatch) {
    json["dispatch"].push_back({{"device_kind", dispatch.device_kind},
                                {"null_kernel_ns", dispatch.null_kernel_ns},
                                {"launch_ns", dispatch.launch_ns},
                                {"issue_ns", dispatch.issue_ns},
                                {"graph_launch_ns", dispatch.graph_launch_ns},
                                {"wait_ns", dispatch.wait_ns}});
  }
  json["held_out"] = ordered_json::array();
  for (const HeldOutError& error : HeldOutErrors(table)) {
    json["held_out"].push_back(
        {{"graph", error.graph}, {"placements", error.placements}, {"mape", error.mape}});
    const PredictionInterval& interval = error.interval;
    ordered_json& last = json["held_out"].back();
    last["low_ratio"] = interval.is_bounded() ? ordered_json(interval.low) : nullptr;
    last["high_ratio"] = interval.is_bounded() ? ordered_json(interval.high) : nullptr;
  }
  json["warnings"] = table.warnings;
  return json;
}

}  // namespace emplace
