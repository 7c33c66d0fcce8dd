#pragma once

// What was measured on a machine, as a file: `emplace-costs` version 1 (JSON, gzipped if the name
// ends in .gz). Written by `emplace profile`, read by every command that takes `costs`.
//
// The file is one object. `machine`, `properties`, `complete` and `warnings` say what was measured;
// `device_kinds`, `dispatch`, `fits`, `ops`, `links`, `link_contention` and `interference` are
// lists of records, one per line, flat but for timings {median_ns, low_ns, high_ns, mean_ns,
// samples}, so that `pandas.json_normalize(json.load(file)["ops"])` is a table. Ops and fits name
// their `device_kind`; a fit's `scope` is "op" (rung 2) or "class" (rung 3). Times are in ns, rates
// per second. Only `format`, `version`, `machine`, `device_kinds` and `ops` are required.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/cost/cost_model.h"

namespace emplace {

/// A robust statistic of repeated timings.
struct Timing {
  double median = 0, low = 0, high = 0;  ///< median and its 95 % interval [ns]
  std::int64_t samples = 0;
  double mean = 0;  ///< without the longest fiftieth (interruptions); 0: not told [ns]

  /// What such timings add up to, one by one: the mean if told, else the median. [ns]
  double Additive() const { return mean > 0 ? mean : median; }
  bool operator==(const Timing&) const = default;
};

/// One op signature on one device kind.
struct OpMeasurement {
  std::string signature;  ///< OpSignature()
  std::string kind;       ///< the op's kind
  OpClass op_class = OpClass::kUnknown;
  double flops = 0;                               ///< [FLOP]
  std::int64_t bytes = 0;                         ///< bytes accessed [B]
  bool is_proxy = false;                          ///< measured with a stand-in kernel
  std::optional<Timing> isolated, cold, in_situ;  ///< warm caches, flushed caches, in whole steps

  /// In situ if seen and wanted, else isolated, else cold, else in situ though unwanted; nullptr
  /// without timing
  const Timing* Best(bool prefer_in_situ = true) const;
  /// Best() as one number: in situ, where an op finds other caches in every step and placement,
  /// what its times add up to; else the median. nullopt without timing. [ns]
  std::optional<double> Time(bool prefer_in_situ = true) const;
};

/// t = t0 + max(F / (P e(F)), B / (W e(B)), (B - C) / S), e(x) = x / (x + x_half), fitted in log
/// time. The last term is what caches do not hold; it is there only if the timings ask for it. A
/// term without FLOPs or bytes is 0. Of t0 and the halves, which time cannot tell apart, t0 is the
/// largest possible: one of the halves is 0. A rate that never decides is the least that does not.
struct RooflineFit {
  double overhead_ns = 0;             ///< t0 [ns]
  double flops_per_second = 0;        ///< P [FLOP/s]; 0: no FLOPs seen
  double flops_half = 0;              ///< FLOPs at which half of P is reached [FLOP]
  double bytes_per_second = 0;        ///< W [B/s]; 0: no bytes seen
  double bytes_half = 0;              ///< [B]
  double spill_bytes = 0;             ///< C [B]
  double spill_bytes_per_second = 0;  ///< S [B/s]; 0: no such term
  std::int64_t samples = 0;           ///< signatures behind the fit
  double error = 0;                   ///< leave-one-signature-out median relative error
  double error_p90 = 0;               ///< its 90th percentile
  bool operator==(const RooflineFit&) const = default;
};

/// Everything measured of one device kind.
struct KindCosts {
  DeviceKind kind;                              ///< with fitted issue, launch, gap, overhead
  std::vector<OpMeasurement> ops;               ///< sorted by signature
  std::map<std::string, RooflineFit> by_op;     ///< rung 2: op kind ("aten.mm") -> fit
  std::map<std::string, RooflineFit> by_class;  ///< rung 3: op class ("matmul") -> fit

  const OpMeasurement* Find(std::string_view signature) const;
};

/// t(n) = latency + n / bandwidth for sizes from `from_bytes` on.
struct LinkRange {
  std::int64_t from_bytes = 0;  ///< [B]
  double latency_ns = 0;        ///< [ns]
  double bytes_per_second = 0;  ///< [B/s]
  bool operator==(const LinkRange&) const = default;
};

struct LinkMeasurement {
  std::string from, to;                                 ///< device names
  std::string memory;                                   ///< "pinned", "pageable", "device", "peer"
  std::vector<std::pair<std::int64_t, Timing>> points;  ///< size [B] -> time
  std::vector<LinkRange> ranges;                        ///< piecewise fit, ascending
  double max_relative_error = 0;                        ///< of the fit over the points
};

/// How much slower `victim` gets while `aggressor` runs beside it: 1.3 = 30 % slower.
struct Slowdown {
  std::string victim, aggressor;  ///< "cpu:0->cpu:1" for links, "gpu:0 matmul" for ops
  double factor = 1;
};

struct DispatchCosts {
  std::string device_kind;
  double null_kernel_ns = 0;   ///< an empty kernel on the device
  double launch_ns = 0;        ///< from the host's issue to the start, eager
  double issue_ns = 0;         ///< host time per command, eager
  double graph_launch_ns = 0;  ///< per command of a captured graph
  double wait_ns = 0;          ///< extra start delay after an event of another stream
};

struct CostTable {
  std::string machine;  ///< host name and devices, for people
  std::map<std::string, std::string>
      properties;  ///< cpu, gpu, driver, libraries, date, clocks, ...
  std::vector<KindCosts> kinds;
  std::vector<LinkMeasurement> links;
  std::vector<DispatchCosts> dispatch;
  std::vector<Slowdown> link_contention, interference;
  std::vector<std::string> warnings;  ///< what the profiler flagged (clocks moved by 7 %, ...)
  bool complete = true;               ///< false: a profile that was cut off and can be resumed

  const KindCosts* Find(std::string_view device_kind) const;
};

/// Reads `emplace-costs` version 1, plain or gzipped. Unknown extra keys are ignored, keys and
/// records may stand in any order.
/// @throws InputError naming file, record and field; a kind, signature or fit given twice
CostTable ReadCostTable(const std::filesystem::path& path);
CostTable ParseCostTable(const std::string& json, const std::string& where);
/// Every number in the fewest digits that read back equal; the same table gives the same text.
std::string FormatCostTable(const CostTable& table);

/// Fits rungs 2 (per op kind with at least 4 signatures) and 3 (per op class with at least 3) of
/// every device kind from its measured ops, with leave-one-signature-out errors; replaces by_op and
/// by_class. Proxies, views and timings of 0 stay out, and unknown ops out of the classes. Among
/// more than 200 signatures not one at a time is left out, but every 200th together. Deterministic.
void FitLadder(CostTable& table, bool prefer_in_situ = true);

/// What a fit says. @return [ns]
double Predict(const RooflineFit& fit, double flops, double bytes);

}  // namespace emplace
