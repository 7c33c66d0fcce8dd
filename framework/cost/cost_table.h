#pragma once

// What was measured on a machine, as a file: `emplace-costs` version 1, defined in FORMAT.md.
// Written by `emplace profile` (and by `emplace costs` of the Python package), read by every
// command that takes `costs`.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/cluster/op_class.h"

namespace emplace {

/// Repeated timings of one thing, in a few numbers.
struct Timing {
  double median = 0, low = 0, high = 0;  ///< median and its 95 % interval [ns]
  std::int64_t samples = 0;              ///< how many timings
  double mean = 0;  ///< [ns] without the longest 2 %, which are interruptions; 0: not in the file

  /// The number to use where many such times are summed [ns]: the mean if there is one, else the
  /// median.
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
  /// Time(), if that is in situ, without what neighbouring devices cost [ns]; nullopt: not known
  std::optional<double> apart_ns;
  std::optional<Interference> interference;  ///< with neighbouring devices; nullopt: not measured

  /// The timing to go by: in situ if there is one and it is preferred, else isolated, else cold,
  /// else in situ after all; nullptr without any.
  const Timing* Best(bool prefer_in_situ = true) const;
  /// Best() as one number [ns]: Additive() of a timing in situ, as an op finds other contents of
  /// the caches in every step and placement; else the median. nullopt without timing.
  std::optional<double> Time(bool prefer_in_situ = true) const;
};

/// The time of an op with F FLOPs and B bytes accessed,
///
///   t = t0 + max(F / (P e(F)), B / (W e(B)), (B - C) / S),   e(x) = x / (x + x_half)
///
/// fitted to the logarithms of measured times. The last term is that of bytes beyond the caches; it
/// is there only if the timings are explained much better with it. A term without FLOPs or bytes is
/// 0. Several t0 with other halves give the same times: of them the fit has the largest t0, with
/// which one half is 0. Where a term decides for no op measured, its rate is the least with which
/// it decides for none; P of ops that multiply is then at least the typical one (roofline_fit.h).
///
/// What t misses is corrected by the measured ops of the same kind (neighbours.h, fitted_costs.h),
/// unless it is predicted no better with them.
struct RooflineFit {
  double overhead_ns = 0;             ///< t0 [ns]
  double flops_per_second = 0;        ///< P [FLOP/s]; 0: no FLOPs seen
  double flops_half = 0;              ///< FLOPs at which half of P is reached [FLOP]
  double bytes_per_second = 0;        ///< W [B/s]; 0: no bytes seen
  double bytes_half = 0;              ///< [B]
  double spill_bytes = 0;             ///< C [B]
  double spill_bytes_per_second = 0;  ///< S [B/s]; 0: no such term
  double neighbour_length = 0;        ///< how far neighbours are heard; 0: not at all
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
  double low = 0, high = 0;  ///< 95 % interval of the factor; 0: not known
  double modelled = 0;       ///< the factor that figures of interference give; 0: not told
};

struct DispatchCosts {
  std::string device_kind;
  double null_kernel_ns = 0;   ///< an empty kernel on the device
  double launch_ns = 0;        ///< from the host's issue to the start, eager
  double issue_ns = 0;         ///< host time per command, eager
  double graph_launch_ns = 0;  ///< per command of a captured graph
  double wait_ns = 0;          ///< extra start delay after an event of another stream
};

/// A placement that was executed, beside what the simulation said of it with costs that were
/// calibrated without it: how far off a simulation with these costs is.
struct HeldOutStep {
  std::string graph;      ///< its name
  std::string placement;  ///< how it was drawn: "random 3"
  /// Step times: as executed, which is in interference semantics if `stream_ns` is told, else in
  /// stream semantics; median of the measured ones [ns]
  double simulated_ns = 0, measured_ns = 0;
  std::int64_t samples = 0;  ///< measured steps
  /// The same in other semantics; 0: not told [ns]
  double stream_ns = 0, queue_ns = 0;
  bool operator==(const HeldOutStep&) const = default;
};

/// All that one file holds.
struct CostTable {
  std::string machine;  ///< host name and devices, for people
  std::map<std::string, std::string>
      properties;  ///< cpu, gpu, driver, libraries, date, clocks, ...
  std::vector<KindCosts> kinds;
  std::vector<LinkMeasurement> links;
  std::vector<DispatchCosts> dispatch;
  std::vector<Slowdown> link_contention, interference;
  std::vector<HeldOutStep> held_out;  ///< each placement of a graph once
  std::vector<std::string> warnings;  ///< what the profiler flagged (clocks moved by 7 %, ...)
  bool complete = true;               ///< false: a profile that was cut off and can be resumed

  const KindCosts* Find(std::string_view device_kind) const;
};

/// Reads `emplace-costs` version 1, plain or gzipped. Unknown extra keys are ignored, keys and
/// records may stand in any order.
/// @throws InputError naming file, record, field and what was expected; also for a kind, signature
///   or fit given twice
CostTable ReadCostTable(const std::filesystem::path& path);
CostTable ParseCostTable(const std::string& json, const std::string& where);
/// Every number in the fewest digits that read back equal; the same table gives the same text.
std::string FormatCostTable(const CostTable& table);

/// Makes by_op (op kinds with at least 4 signatures) and by_class (op classes with at least 3) of
/// every device kind anew from its measured ops. Their errors are those of predicting each
/// signature by a fit of the others and by them as neighbours; of more than 200 signatures every
/// 200th are left out together. Proxies, views and timings of 0 are not fitted, and unknown ops
/// only by kind. Deterministic.
/// @param prefer_in_situ  which timings are fitted: OpMeasurement::Time()
void FitLadder(CostTable& table, bool prefer_in_situ = true);

/// The time of an op that fits are made of and neighbours tell [ns]: OpMeasurement::Time(); nullopt
/// for proxies, views, and without a time above 0.
std::optional<double> FittedTime(const OpMeasurement& op, bool prefer_in_situ);

/// The time that a fit predicts for an op, without neighbours. @param flops  [FLOP]   @param bytes
/// [B]   @return [ns]
double Predict(const RooflineFit& fit, double flops, double bytes);

}  // namespace emplace
