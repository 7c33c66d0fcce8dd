#pragma once

// Measurements of a machine as a file: `emplace-costs` version 2, defined in FORMAT.md. Written by
// `emplace profile` (and by `emplace costs` of the Python package), read by every command that
// takes `costs`.

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

/// Statistics of repeated timings.
struct Timing {
  double median = 0, low = 0, high = 0;  ///< median and its 95 % interval [ns]
  std::int64_t samples = 0;              ///< number of timings
  double mean = 0;  ///< [ns] without the longest 2 %, which are interruptions; 0: not in the file

  /// Returns the time to use in sums of many times [ns]: the mean if there is one, else the median.
  double Additive() const { return mean > 0 ? mean : median; }
  bool operator==(const Timing&) const = default;
};

/// The measurements of one op signature on one device kind.
struct OpMeasurement {
  std::string signature;  ///< OpSignature()
  std::string kind;       ///< the op's kind
  OpClass op_class = OpClass::kUnknown;
  double flops = 0;                               ///< [FLOP]
  std::int64_t bytes = 0;                         ///< bytes accessed [B]
  bool is_proxy = false;                          ///< measured with a stand-in kernel
  std::optional<Timing> isolated, cold, in_situ;  ///< warm caches, flushed caches, in whole steps
  /// Time() in situ, without the slowdown by neighbouring devices [ns]; nullopt: not known
  std::optional<double> apart_ns;
  std::optional<Interference> interference;  ///< with neighbouring devices; nullopt: not measured

  /// Returns the preferred timing: in situ if there is one and it is preferred, else isolated, else
  /// cold, else in situ; nullptr without any.
  const Timing* Best(bool prefer_in_situ = true) const;
  /// Returns Best() as one number [ns]; nullopt without timing. For a timing in situ this is
  /// Additive(), since an op finds different contents of the caches in every step and placement.
  /// Otherwise it is the median.
  std::optional<double> Time(bool prefer_in_situ = true) const;
};

/// The time of an op with F FLOPs and B bytes accessed,
///
///   t = t0 + max(F / (P e(F)), B / (W e(B)), (B - C) / S),   e(x) = x / (x + x_half)
///
/// fitted to the logarithms of measured times. The last term is for bytes beyond the caches; it is
/// used only if it makes the fit much better. A term without FLOPs or bytes is 0. Several sets of
/// t0 and half sizes (flops_half, bytes_half) give the same times: the fit has the largest t0, with
/// which one half size is 0. If a term determines the time of no measured op, its rate is the least
/// for which that is so; for ops that multiply, P is then at least the typical rate
/// (roofline_fit.h).
///
/// The error of t is corrected by the measured ops of the same kind (neighbours.h, fitted_costs.h),
/// unless this does not improve predictions.
struct RooflineFit {
  double overhead_ns = 0;             ///< t0 [ns]
  double flops_per_second = 0;        ///< P [FLOP/s]; 0: no sample has FLOPs
  double flops_half = 0;              ///< FLOPs at which half of P is reached [FLOP]
  double bytes_per_second = 0;        ///< W [B/s]; 0: no sample has bytes
  double bytes_half = 0;              ///< bytes at which half of W is reached [B]
  double spill_bytes = 0;             ///< C [B]
  double spill_bytes_per_second = 0;  ///< S [B/s]; 0: no such term
  double neighbour_length = 0;        ///< length scale of the correction by neighbours; 0: none
  std::int64_t samples = 0;           ///< number of signatures in the fit
  double error = 0;                   ///< leave-one-signature-out median relative error
  double error_p90 = 0;               ///< its 90th percentile
  bool operator==(const RooflineFit&) const = default;
};

/// All measurements of one device kind.
struct KindCosts {
  DeviceKind kind;                              ///< with fitted issue, launch, gap, overhead
  std::vector<OpMeasurement> ops;               ///< sorted by signature
  std::map<std::string, RooflineFit> by_op;     ///< source "neighbour": op kind ("aten.mm") -> fit
  std::map<std::string, RooflineFit> by_class;  ///< source "roofline": op class ("matmul") -> fit

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

/// The slowdown of `victim` while `aggressor` runs concurrently: 1.3 = 30 % slower.
struct Slowdown {
  std::string victim, aggressor;  ///< "cpu:0->cpu:1" for links, "gpu:0 matmul" for ops
  double factor = 1;
  double low = 0, high = 0;  ///< 95 % interval of the factor; 0: not known
  double modelled = 0;       ///< the factor computed from interference parameters; 0: not known
};

struct DispatchCosts {
  std::string device_kind;
  double null_kernel_ns = 0;   ///< an empty kernel on the device
  double launch_ns = 0;        ///< from the host's issue to the start, eager
  double issue_ns = 0;         ///< host time per command, eager
  double graph_launch_ns = 0;  ///< per command of a captured graph
  double wait_ns = 0;          ///< extra start delay after an event of another stream
};

/// An executed placement, compared with its simulation. The costs of the simulation were calibrated
/// without it, so the difference is the error of simulations with these costs.
struct HeldOutStep {
  std::string graph;      ///< its name
  std::string placement;  ///< the way in which it was drawn: "random 3"
  /// Step times [ns]. `simulated_ns` is in the semantics that models the execution: interference
  /// semantics if `stream_ns` is given, else stream semantics. `measured_ns` is the median.
  double simulated_ns = 0, measured_ns = 0;
  std::int64_t samples = 0;  ///< measured steps
  /// Simulated times in other semantics; 0: not known [ns]
  double stream_ns = 0, queue_ns = 0;
  bool operator==(const HeldOutStep&) const = default;
};

/// The content of one file.
struct CostTable {
  std::string machine;  ///< host name and devices, as text for users
  std::map<std::string, std::string>
      properties;  ///< cpu, gpu, driver, libraries, date, clocks, ...
  std::vector<KindCosts> kinds;
  std::vector<LinkMeasurement> links;
  std::vector<DispatchCosts> dispatch;
  std::vector<Slowdown> link_contention, interference;
  std::vector<HeldOutStep> held_out;  ///< each placement of a graph once
  std::vector<std::string> warnings;  ///< problems flagged by the profiler (clocks moved by 7 %,
                                      ///< ...)
  bool complete = true;               ///< false: the profile was interrupted and can be resumed

  const KindCosts* Find(std::string_view device_kind) const;
};

/// Reads `emplace-costs` version 1 or 2, plain or gzipped, with keys and records in any order.
/// Ignores unknown keys.
/// @throws InputError naming file, record, field and the expected value; also for a kind, signature
///   or fit that occurs twice
CostTable ReadCostTable(const std::filesystem::path& path);
CostTable ParseCostTable(const std::string& json, const std::string& where);
/// Writes every number with the fewest digits that read back equal. Equal tables give equal texts.
/// The version is 1 if no kind is of class network, else 2.
std::string FormatCostTable(const CostTable& table);

/// Recomputes by_op (op kinds with at least 4 signatures) and by_class (op classes with at least 3)
/// of every device kind from its measured ops. The errors are those of predicting each signature by
/// a fit to the others, with them as neighbours; of more than 200 signatures, every 200th are left
/// out together. Proxies, views and timings of 0 are not fitted. Ops of unknown class are fitted
/// only by kind. Deterministic.
/// @param prefer_in_situ  selects the timings that are fitted: OpMeasurement::Time()
void FitLadder(CostTable& table, bool prefer_in_situ = true);

/// Returns the time of an op for fits and for corrections by neighbours [ns]:
/// OpMeasurement::Time(); nullopt for proxies, views, and without a time above 0.
std::optional<double> FittedTime(const OpMeasurement& op, bool prefer_in_situ);

/// Returns the time that a fit predicts for an op, without neighbours. [ns]
/// @param flops  [FLOP]   @param bytes  [B]
double Predict(const RooflineFit& fit, double flops, double bytes);

}  // namespace emplace
