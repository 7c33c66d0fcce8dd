// With a = t0 + F_half / P, b = t0 + B_half / W, and C the bytes that caches hold, the roofline is
//
//   t(F, B) = max(a + p F, b + w B, s B - c),   p = 1 / P, w = 1 / W, s = 1 / S, c = C / S - t0
//
// So a fit is the maximum of three lines. The search (least_squares.h) is over the logs of their
// positive numbers and minimises the sum of Huber's losses of log(t / measured), from several
// starts. It first runs without the third line, which is added only if the samples require it.

#include "framework/cost/roofline_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include <Eigen/Dense>

#include "framework/base/quantile.h"
#include "framework/cost/least_squares.h"

namespace emplace {
namespace {

// Log errors beyond the width count linearly, so that an op not described by the roofline does not
// distort the fit to the others.
constexpr LeastSquaresOptions kSearch{.huber_width = 0.05, .floor = -60, .max_step = 2};
constexpr size_t kMinForSpill = 8;
// Among starts whose final losses per op differ by no more than this, the first is used.
constexpr double kTie = 1e-12;
// The weight of the error for being slower than the typical rate, relative to one sample. It is
// small, so that it matters only if the samples leave open whether FLOPs or bytes limit the speed.
constexpr double kRateWeight = 0.02;

using Sample = RooflineSample;
using Samples = std::span<const Sample>;

struct Line {
  double base = 0;   // [ns]
  double slope = 0;  // [ns/FLOP] or [ns/B]
  double At(double x) const { return base + slope * x; }
};

enum { kCompute, kMemory, kSpill };
constexpr int kNumLines = RooflineLines::kNumLines;
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
    if (top < 0) {  // no work: uses the line of lower base
      const bool compute = !exists[kMemory] || lines[kCompute].base < lines[kMemory].base;
      top = exists[kCompute] && compute ? kCompute : kMemory;
    }
    return {top, x[top], lines[top].At(x[top])};
  }
};

using Logs = RooflineLines::Logs;
using Start = RooflineLines;

Roofline MakeRoofline(const Start& lines) {
  const Logs v = lines.logs.array().exp();
  return {{Line{v[0], v[1]}, Line{v[2], v[3]}, Line{-v[4], v[5]}}, lines.exists};
}

// Descends from `at`. @return the loss there
double Descend(Samples samples, double typical_rate, Start& at) {
  const bool has_rate = typical_rate > 0 && at.exists[kCompute];
  const auto evaluate =
      [&](const Logs& logs, std::vector<double>& errors, std::vector<Logs>* gradients) {
        const Roofline roofline = MakeRoofline({logs, at.exists});
        for (size_t i = 0; i < samples.size(); ++i) {
          const Roofline::Deciding top = roofline.At(samples[i]);
          errors[i] = std::log(top.nanos / samples[i].nanos);
          if (gradients == nullptr) continue;
          const Line& line = roofline.lines[top.line];
          (*gradients)[i].setZero();
          (*gradients)[i].segment<2>(2 * top.line) << line.base / top.nanos,
              line.slope * top.x / top.nanos;
        }
        if (!has_rate) return;
        const double slower = logs[1] + std::log(typical_rate * 1e-9);
        errors.back() = kRateWeight * std::max(slower, 0.0);
        if (gradients == nullptr) return;
        gradients->back() = slower > 0 ? Logs(kRateWeight * Logs::Unit(1)) : Logs::Zero();
      };
  return MinimizeHuber(evaluate, samples.size() + (has_rate ? 1 : 0), kSearch, at.logs);
}

// Starts with bases from almost 0 to the shortest time, slopes from the best sample's to the
// median, and the slope of the typical rate.
std::vector<Start> MakeStarts(Samples samples, double typical_rate) {
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
    if (slopes[i].empty()) slopes[i].push_back(1);  // has no effect
  }
  std::vector<double> compute_slopes{Quantile(slopes[kCompute], 0),
                                     Quantile(slopes[kCompute], 0.5)};
  if (typical_rate > 0) compute_slopes.push_back(1e9 / typical_rate);
  std::vector<Start> starts;
  for (const double base : {0.9, 0.5, 0.01}) {
    for (const double compute : compute_slopes) {
      for (const double memory : {0.0, 0.5}) {
        const Eigen::Vector4d values(
            base * shortest, compute, base * shortest, Quantile(slopes[kMemory], memory));
        start.logs.head<4>() = values.array().log();
        starts.push_back(start);
      }
    }
  }
  return starts;
}

// Adds the line for bytes beyond the caches. It begins at some size, and has the slope that the
// largest sample requires.
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

double DescendFromAll(Samples samples,
                      double typical_rate,
                      std::vector<Start> starts,
                      Start& best) {
  double least = std::numeric_limits<double>::infinity();
  for (Start& start : starts) {
    const double loss = Descend(samples, typical_rate, start);
    if (loss > least - kTie * static_cast<double>(samples.size())) continue;
    least = loss;
    best = start;
  }
  return least;
}

// Returns whether both lines of memory determine the times of some samples, and the loss falls by
// more than two further parameters explain as noise (Schwarz' information criterion 1978, twice as
// strict).
bool NeedsSpill(Samples samples, const Start& with, double loss_with, double loss_without) {
  const auto n = static_cast<double>(samples.size());
  if (!(loss_without > 1e-8 * n)) return false;
  if (loss_with > loss_without * std::exp(-4 * std::log(n) / n)) return false;
  const Roofline roofline = MakeRoofline(with);
  std::array<int, kNumLines> decided{};
  for (const Sample& s : samples) ++decided[roofline.At(s).line];
  return decided[kMemory] >= 2 && decided[kSpill] >= 2;
}

}  // namespace

double TypicalRate::Without(std::span<const int> left_out) const {
  const auto is_left_out = [&](const Op& op) {
    return std::binary_search(left_out.begin(), left_out.end(), op.id);
  };
  double total = 0, below = 0;
  for (const Op& op : ops_) total += is_left_out(op) ? 0 : op.flops;
  for (const Op& op : ops_) {
    below += is_left_out(op) ? 0 : op.flops;
    if (below > 0 && 2 * below >= total) return op.rate;
  }
  return 0;
}

TypicalRate::TypicalRate(std::span<const RooflineSample> samples) {
  for (const RooflineSample& s : samples) {
    if (s.multiplies && s.flops > 0) ops_.push_back({s.flops / s.nanos * 1e9, s.flops, s.id});
  }
  std::sort(ops_.begin(), ops_.end(), [](const Op& a, const Op& b) {
    return std::tie(a.rate, a.id) < std::tie(b.rate, b.id);
  });
}

RooflineLines SearchRoofline(Samples samples, double typical_rate) {
  Start plain, spilling;
  const double loss =
      DescendFromAll(samples, typical_rate, MakeStarts(samples, typical_rate), plain);
  if (samples.size() < kMinForSpill || !plain.exists[kMemory]) return plain;
  const double less =
      DescendFromAll(samples, typical_rate, MakeSpillStarts(samples, plain), spilling);
  return NeedsSpill(samples, spilling, less, loss) ? spilling : plain;
}

RooflineLines SearchRoofline(Samples samples, double typical_rate, RooflineLines start) {
  Descend(samples, typical_rate, start);
  return start;
}

RooflineFit MakeFit(Samples samples, double typical_rate, const RooflineLines& found) {
  Roofline roofline = MakeRoofline(found);
  std::array<bool, kNumLines> decides{};
  for (const Sample& s : samples) decides[roofline.At(s).line] = true;
  if (!decides[kCompute]) decides[kMemory] = true;  // at least the part below the third line
  RooflineFit fit;
  fit.overhead_ns = std::min(decides[kCompute] ? roofline.lines[kCompute].base : INFINITY,
                             decides[kMemory] ? roofline.lines[kMemory].base : INFINITY);
  for (const int i : {kCompute, kMemory}) {
    if (!roofline.exists[i] || decides[i]) continue;
    // The steepest slope with which the line never determines a time.
    double slope = std::numeric_limits<double>::infinity();
    for (const Sample& s : samples) {
      const double x = i == kCompute ? s.flops : s.bytes;
      if (x > 0) slope = std::min(slope, (roofline.At(s).nanos - fit.overhead_ns) / x);
    }
    if (i == kCompute && typical_rate > 0) slope = std::min(slope, 1e9 / typical_rate);
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

}  // namespace emplace
