// The fits of the cost ladder. With a = t0 + F_half / P, b = t0 + B_half / W and C the bytes that
// caches hold the roofline reads
//
//   t(F, B) = max(a + p F, b + w B, s B - c),   p = 1 / P, w = 1 / W, s = 1 / S, c = C / S - t0
//
// so a fit is three lines of which the highest decides. The logs of their positive numbers are
// searched (least_squares.h) for the least sum of Huber's losses of log(t / measured), from several
// starts; first without the third line, which stays only if the samples ask for it.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "framework/base/quantile.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/least_squares.h"

namespace emplace {
namespace {

// Log errors beyond the width count linearly: an op that the roofline does not describe must not
// bend the fit of the others.
constexpr LeastSquaresOptions kSearch{.huber_width = 0.05, .floor = -60, .max_step = 2};
// For leave-one-out errors up to so many signatures are fitted from all starts without each of
// them; the fits without one of more signatures start at the fit of all.
constexpr size_t kMaxFreshFits = 32;
constexpr size_t kMaxFolds = 200;
constexpr size_t kMinForOp = 4, kMinForClass = 3, kMinForSpill = 8;

struct Sample {
  double flops, bytes, nanos;
};
using Samples = std::span<const Sample>;

struct Line {
  double base = 0;   // [ns]
  double slope = 0;  // [ns/FLOP] or [ns/B]
  double At(double x) const { return base + slope * x; }
};

enum { kCompute, kMemory, kSpill, kNumLines };
struct Roofline {
  std::array<Line, kNumLines> lines;
  std::array<bool, kNumLines> exists;  // compute, memory: some sample has FLOPs, bytes

  struct Deciding {
    int line;
    double x, nanos;
  };
  Deciding At(const Sample& s) const {
    const std::array<double, kNumLines> x{s.flops, s.bytes, s.bytes};
    int top = -1;
    for (int i = 0; i < kNumLines; ++i) {
      if (!exists[i] || x[i] <= 0) continue;
      if (top < 0 || lines[i].At(x[i]) > lines[top].At(x[top])) top = i;
    }
    if (top < 0) {  // no work: the lower base
      const bool compute = !exists[kMemory] || lines[kCompute].base < lines[kMemory].base;
      top = exists[kCompute] && compute ? kCompute : kMemory;
    }
    return {top, x[top], lines[top].At(x[top])};
  }
};

// What is searched: logs of base and slope of each line; the third one's base is negative.
using Logs = Eigen::Matrix<double, 2 * kNumLines, 1>;
struct Start {
  Logs logs = Logs::Zero();
  std::array<bool, kNumLines> exists{};

  Roofline MakeRoofline() const {
    const Logs v = logs.array().exp();
    return {{Line{v[0], v[1]}, Line{v[2], v[3]}, Line{-v[4], v[5]}}, exists};
  }
};

// Descends from `at`. @return the loss there
double Descend(Samples samples, Start& at) {
  const auto evaluate =
      [&](const Logs& logs, std::vector<double>& errors, std::vector<Logs>* gradients) {
        const Roofline roofline = Start{logs, at.exists}.MakeRoofline();
        for (size_t i = 0; i < samples.size(); ++i) {
          const Roofline::Deciding top = roofline.At(samples[i]);
          errors[i] = std::log(top.nanos / samples[i].nanos);
          if (gradients == nullptr) continue;
          const Line& line = roofline.lines[top.line];
          (*gradients)[i].setZero();
          (*gradients)[i].segment<2>(2 * top.line) << line.base / top.nanos,
              line.slope * top.x / top.nanos;
        }
      };
  return MinimizeHuber(evaluate, samples.size(), kSearch, at.logs);
}

// Bases from nearly nothing to the shortest time, slopes from the best sample's to the middle's.
std::vector<Start> MakeStarts(Samples samples) {
  double shortest = std::numeric_limits<double>::infinity();
  std::array<std::vector<double>, 2> slopes;
  for (const Sample& s : samples) {
    shortest = std::min(shortest, s.nanos);
    if (s.flops > 0) slopes[kCompute].push_back(s.nanos / s.flops);
    if (s.bytes > 0) slopes[kMemory].push_back(s.nanos / s.bytes);
  }
  Start start;
  for (const int i : {kCompute, kMemory}) {
    start.exists[i] = !slopes[i].empty();
    if (slopes[i].empty()) slopes[i].push_back(1);  // of no effect
  }
  std::vector<Start> starts;
  for (const double base : {0.9, 0.5, 0.01}) {
    for (const double compute : {0.0, 0.5}) {
      for (const double memory : {0.0, 0.5}) {
        const Eigen::Vector4d values(base * shortest,
                                     Quantile(slopes[kCompute], compute),
                                     base * shortest,
                                     Quantile(slopes[kMemory], memory));
        start.logs.head<4>() = values.array().log();
        starts.push_back(start);
      }
    }
  }
  return starts;
}

// Adds the line of the bytes beyond the caches: it begins at some size, and from there on has the
// slope that the largest sample needs.
std::vector<Start> MakeSpillStarts(Samples samples, const Start& found) {
  std::vector<double> sizes, slopes;
  const Sample* largest = &samples.front();
  for (const Sample& s : samples) {
    if (s.bytes <= 0) continue;
    sizes.push_back(s.bytes);
    slopes.push_back(s.nanos / s.bytes);
    if (s.bytes > largest->bytes) largest = &s;
  }
  std::vector<Start> starts;
  for (const double from : {0.3, 0.5, 0.7, 0.9}) {
    for (const double memory : {0.1, 0.3, 0.5}) {
      const double size = Quantile(sizes, from);
      const double slope = largest->nanos / (largest->bytes - 0.9 * size);
      Start start = found;
      start.exists[kSpill] = true;
      start.logs[3] = std::min(start.logs[3], std::log(Quantile(slopes, memory)));
      start.logs[4] = std::log(0.9 * slope * size);
      start.logs[5] = std::log(slope);
      starts.push_back(start);
    }
  }
  return starts;
}

double DescendFromAll(Samples samples, std::vector<Start> starts, Start& best) {
  double least = std::numeric_limits<double>::infinity();
  for (Start& start : starts) {
    const double loss = Descend(samples, start);
    if (loss >= least) continue;
    least = loss;
    best = start;
  }
  return least;
}

// Both lines of memory decide for some samples, and the loss falls by more than two more parameters
// explain of mere noise (Schwarz' information criterion 1978, twice as strict).
bool NeedsSpill(Samples samples, const Start& with, double loss_with, double loss_without) {
  const auto n = static_cast<double>(samples.size());
  if (!(loss_without > 1e-8 * n)) return false;
  if (loss_with > loss_without * std::exp(-4 * std::log(n) / n)) return false;
  const Roofline roofline = with.MakeRoofline();
  std::array<int, kNumLines> decided{};
  for (const Sample& s : samples) ++decided[roofline.At(s).line];
  return decided[kMemory] >= 2 && decided[kSpill] >= 2;
}

Start FitAfresh(Samples samples) {
  Start plain, spilling;
  const double loss = DescendFromAll(samples, MakeStarts(samples), plain);
  if (samples.size() < kMinForSpill || !plain.exists[kMemory]) return plain;
  const double less = DescendFromAll(samples, MakeSpillStarts(samples, plain), spilling);
  return NeedsSpill(samples, spilling, less, loss) ? spilling : plain;
}

// The same function of FLOPs and bytes in the terms of the table.
RooflineFit MakeFit(Samples samples, const Start& found) {
  Roofline roofline = found.MakeRoofline();
  std::array<bool, kNumLines> decides{};
  for (const Sample& s : samples) decides[roofline.At(s).line] = true;
  if (!decides[kCompute]) decides[kMemory] = true;  // at least what lies under the third line
  RooflineFit fit;
  fit.overhead_ns = std::min(decides[kCompute] ? roofline.lines[kCompute].base : INFINITY,
                             decides[kMemory] ? roofline.lines[kMemory].base : INFINITY);
  for (const int i : {kCompute, kMemory}) {
    if (!roofline.exists[i] || decides[i]) continue;
    // As steep as it may be without ever deciding.
    double slope = std::numeric_limits<double>::infinity();
    for (const Sample& s : samples) {
      const double x = i == kCompute ? s.flops : s.bytes;
      if (x > 0) slope = std::min(slope, (roofline.At(s).nanos - fit.overhead_ns) / x);
    }
    roofline.exists[i] = slope > 0;
    roofline.lines[i] = {fit.overhead_ns, slope};
  }
  const auto [compute, memory, spill] = roofline.lines;
  if (roofline.exists[kCompute]) {
    fit.flops_per_second = 1e9 / compute.slope;
    fit.flops_half = (compute.base - fit.overhead_ns) / compute.slope;
  }
  if (roofline.exists[kMemory]) {
    fit.bytes_per_second = 1e9 / memory.slope;
    fit.bytes_half = (memory.base - fit.overhead_ns) / memory.slope;
  }
  if (decides[kSpill]) {
    fit.spill_bytes_per_second = 1e9 / spill.slope;
    fit.spill_bytes = (fit.overhead_ns - spill.base) / spill.slope;
  }
  fit.samples = static_cast<std::int64_t>(samples.size());
  return fit;
}

RooflineFit FitSamples(Samples samples) {
  const Start found = FitAfresh(samples);
  RooflineFit fit = MakeFit(samples, found);
  std::vector<double> errors;
  const size_t num_folds = std::min(samples.size(), kMaxFolds);
  for (size_t fold = 0; fold < num_folds; ++fold) {
    std::vector<Sample> others;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (i % num_folds != fold) others.push_back(samples[i]);
    }
    Start start = found;
    if (samples.size() <= kMaxFreshFits) {
      start = FitAfresh(others);
    } else {
      Descend(others, start);
    }
    const RooflineFit without = MakeFit(others, start);
    for (size_t i = fold; i < samples.size(); i += num_folds) {
      const Sample& s = samples[i];
      errors.push_back(std::abs(Predict(without, s.flops, s.bytes) - s.nanos) / s.nanos);
    }
  }
  fit.error = Median(errors);
  fit.error_p90 = Quantile(errors, 0.9);
  return fit;
}

using Groups = std::map<std::string, std::vector<Sample>>;

std::map<std::string, RooflineFit> FitGroups(const Groups& groups, size_t min_samples) {
  std::map<std::string, RooflineFit> fits;
  for (const auto& [name, samples] : groups) {
    if (samples.size() >= min_samples) fits[name] = FitSamples(samples);
  }
  return fits;
}

}  // namespace

void FitLadder(CostTable& table, bool prefer_in_situ) {
  for (KindCosts& kind : table.kinds) {
    Groups by_op, by_class;
    for (const OpMeasurement& op : kind.ops) {
      const std::optional<double> time = op.Time(prefer_in_situ);
      if (!time || !(*time > 0)) continue;
      if (op.is_proxy || op.op_class == OpClass::kView) continue;
      const Sample sample{op.flops, static_cast<double>(op.bytes), *time};
      by_op[op.kind].push_back(sample);
      if (op.op_class == OpClass::kUnknown) continue;
      by_class[std::string(ToString(op.op_class))].push_back(sample);
    }
    kind.by_op = FitGroups(by_op, kMinForOp);
    kind.by_class = FitGroups(by_class, kMinForClass);
  }
}

double Predict(const RooflineFit& fit, double flops, double bytes) {
  const auto term = [](double amount, double half, double rate) {
    return amount > 0 && rate > 0 ? (amount + half) / rate * 1e9 : 0;
  };
  return fit.overhead_ns + std::max({term(flops, fit.flops_half, fit.flops_per_second),
                                     term(bytes, fit.bytes_half, fit.bytes_per_second),
                                     term(bytes, -fit.spill_bytes, fit.spill_bytes_per_second)});
}

}  // namespace emplace
