// The fits of cost tables: a roofline for each op kind and op class (roofline_fit.h), the length
// scale of the correction by neighbours (neighbours.h), and the errors of both on ops left out.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include "framework/base/quantile.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/least_squares.h"
#include "framework/cost/neighbours.h"
#include "framework/cost/roofline_fit.h"

namespace emplace {
namespace {

// For leave-one-out errors of up to kMaxFreshFits signatures, the fit without each of them is made
// from all starts. With more signatures, it starts at the fit to all and uses its length scale.
constexpr size_t kMaxFreshFits = 32;
constexpr size_t kMaxFolds = 200;
constexpr size_t kMinForOp = 4, kMinForClass = 3;
// Log errors beyond the width count linearly, as in the roofline's fit.
constexpr double kHuberWidth = 0.05;
// Neighbours are used if the loss per op without them is more than kNoLoss, and the loss with them
// is at most the share kClearlyLess of it.
constexpr double kNoLoss = 1e-8, kClearlyLess = 0.95;

constexpr std::array<double, 3> kLengths{1.5, 3, 6};
using Inverses = std::array<Eigen::MatrixXd, kLengths.size()>;  // [n, n] of Covariance(), by length

// The measured ops of one kind.
struct OpsOfKind {
  std::vector<RooflineSample> samples;  // [n]
  std::vector<OpFeatures> features;     // [n]
  Inverses inverses;
};

Inverses Invert(std::span<const OpFeatures> features) {
  Inverses inverses;
  for (size_t i = 0; i < kLengths.size(); ++i) {
    inverses[i] = Covariance(features, kLengths[i]).inverse();
  }
  return inverses;
}

Eigen::VectorXd Residuals(std::span<const RooflineSample> samples, const RooflineFit& fit) {
  Eigen::VectorXd residuals(static_cast<Eigen::Index>(samples.size()));
  for (Eigen::Index i = 0; i < residuals.size(); ++i) {
    const RooflineSample& s = samples[i];
    residuals[i] = std::log(s.nanos / Predict(fit, s.flops, s.bytes));
  }
  return residuals;
}

// The sum of losses of the ops of one kind, each left out, by length; last: without neighbours.
using Losses = std::array<double, kLengths.size() + 1>;
void AddLosses(const Inverses& inverses, const Eigen::VectorXd& residuals, Losses& losses) {
  for (int i = 0; i < residuals.size(); ++i) {
    losses.back() += HuberLoss(residuals[i], kHuberWidth);
    for (size_t l = 0; l < kLengths.size(); ++l) {
      const double told = PredictLeftOut(inverses[l], residuals, {{i}})[0];
      losses[l] += HuberLoss(residuals[i] - told, kHuberWidth);
    }
  }
}

// Returns the index of the least loss, if it is clearly less than without neighbours.
size_t BestLength(const Losses& losses, size_t num_ops) {
  const auto best = std::min_element(losses.begin(), losses.end() - 1);
  const bool is_exact = losses.back() <= kNoLoss * static_cast<double>(num_ops);
  return is_exact || *best > kClearlyLess * losses.back() ? kLengths.size() : best - losses.begin();
}

// The ops that are fitted together: those of one kind or of one class.
class Fitting {
 public:
  Fitting(std::vector<const OpsOfKind*> kinds, const TypicalRate& rate)
      : kinds_(std::move(kinds)), rate_(rate) {
    for (const OpsOfKind* kind : kinds_) {
      samples_.insert(samples_.end(), kind->samples.begin(), kind->samples.end());
    }
    std::sort(
        samples_.begin(), samples_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  }

  size_t size() const { return samples_.size(); }

  RooflineFit Fit() const {
    const double rate = RateWithout({});
    const RooflineLines found = SearchRoofline(samples_, rate);
    RooflineFit fit = MakeFit(samples_, rate, found);
    const size_t length = ChooseLength(fit);
    if (length < kLengths.size()) fit.neighbour_length = kLengths[length];
    const std::vector<double> errors = ErrorsLeftOut(found, length);
    fit.error = Median(errors);
    fit.error_p90 = Quantile(errors, 0.9);
    return fit;
  }

 private:
  double RateWithout(std::span<const int> ids) const {
    return samples_.front().multiplies ? rate_.Without(ids) : 0;
  }

  size_t ChooseLength(const RooflineFit& fit) const {
    Losses losses{};
    for (const OpsOfKind* kind : kinds_) {
      AddLosses(kind->inverses, Residuals(kind->samples, fit), losses);
    }
    return BestLength(losses, samples_.size());
  }

  std::vector<double> ErrorsLeftOut(const RooflineLines& found, size_t length) const {
    std::vector<double> errors;
    const size_t num_folds = std::min(samples_.size(), kMaxFolds);
    for (size_t fold = 0; fold < num_folds; ++fold) {
      std::vector<RooflineSample> others;
      std::vector<int> left_out;
      for (size_t i = 0; i < samples_.size(); ++i) {
        if (i % num_folds == fold) {
          left_out.push_back(samples_[i].id);
        } else {
          others.push_back(samples_[i]);
        }
      }
      const bool is_fresh = samples_.size() <= kMaxFreshFits;
      const double rate = RateWithout(left_out);
      const RooflineFit without =
          MakeFit(others,
                  rate,
                  is_fresh ? SearchRoofline(others, rate) : SearchRoofline(others, rate, found));
      AddErrors(without, left_out, is_fresh ? std::nullopt : std::optional(length), errors);
    }
    return errors;
  }

  // @param length  index into kLengths; nullopt: chosen without the ops left out
  void AddErrors(const RooflineFit& without,
                 std::span<const int> left_out,
                 std::optional<size_t> length,
                 std::vector<double>& errors) const {
    if (!length) length = ChooseLengthWithout(without, left_out);
    for (const OpsOfKind* kind : kinds_) {
      const std::vector<int> out = PlacesOf(*kind, left_out);
      if (out.empty()) continue;
      const Eigen::VectorXd residuals = Residuals(kind->samples, without);
      std::vector<double> told(out.size(), 0);
      if (*length < kLengths.size() && out.size() < kind->samples.size()) {
        told = PredictLeftOut(kind->inverses[*length], residuals, out);
      }
      for (size_t i = 0; i < out.size(); ++i) {
        errors.push_back(std::abs(std::expm1(told[i] - residuals[out[i]])));
      }
    }
  }

  size_t ChooseLengthWithout(const RooflineFit& without, std::span<const int> left_out) const {
    Losses losses{};
    for (const OpsOfKind* kind : kinds_) {
      const std::vector<int> out = PlacesOf(*kind, left_out);
      if (out.empty()) {
        AddLosses(kind->inverses, Residuals(kind->samples, without), losses);
        continue;
      }
      OpsOfKind others;
      for (int i = 0; i < static_cast<int>(kind->samples.size()); ++i) {
        if (std::binary_search(out.begin(), out.end(), i)) continue;
        others.samples.push_back(kind->samples[i]);
        others.features.push_back(kind->features[i]);
      }
      AddLosses(Invert(others.features), Residuals(others.samples, without), losses);
    }
    return BestLength(losses, samples_.size());
  }

  // @return indices, ascending
  static std::vector<int> PlacesOf(const OpsOfKind& kind, std::span<const int> ids) {
    std::vector<int> places;
    for (size_t i = 0; i < kind.samples.size(); ++i) {
      if (std::binary_search(ids.begin(), ids.end(), kind.samples[i].id)) {
        places.push_back(static_cast<int>(i));
      }
    }
    return places;
  }

  const std::vector<const OpsOfKind*> kinds_;
  const TypicalRate& rate_;
  std::vector<RooflineSample> samples_;  // by id
};

struct Measured {
  std::map<std::string, OpsOfKind> by_op;
  std::map<std::string, std::vector<const OpsOfKind*>> by_class;
  std::vector<RooflineSample> samples;
};

Measured Collect(const KindCosts& kind, bool prefer_in_situ) {
  Measured measured;
  std::map<std::string, OpClass> classes;
  for (const OpMeasurement& op : kind.ops) {
    const std::optional<double> time = FittedTime(op, prefer_in_situ);
    if (!time) continue;
    const auto bytes = static_cast<double>(op.bytes);
    const RooflineSample sample{
        .flops = op.flops,
        .bytes = bytes,
        .nanos = *time,
        .id = static_cast<int>(measured.samples.size()),
        .multiplies = op.op_class == OpClass::kMatmul || op.op_class == OpClass::kConvolution};
    OpsOfKind& ops = measured.by_op[op.kind];
    ops.samples.push_back(sample);
    ops.features.push_back(MakeOpFeatures(op.signature, op.flops, bytes));
    measured.samples.push_back(sample);
    classes[op.kind] = op.op_class;
  }
  for (auto& [name, ops] : measured.by_op) {
    ops.inverses = Invert(ops.features);
    const OpClass op_class = classes[name];
    if (op_class == OpClass::kUnknown) continue;
    measured.by_class[std::string(ToString(op_class))].push_back(&ops);
  }
  return measured;
}

}  // namespace

std::optional<double> FittedTime(const OpMeasurement& op, bool prefer_in_situ) {
  const std::optional<double> time = op.Time(prefer_in_situ);
  if (!time || !(*time > 0) || op.is_proxy || op.op_class == OpClass::kView) return std::nullopt;
  return time;
}

void FitLadder(CostTable& table, bool prefer_in_situ) {
  for (KindCosts& kind : table.kinds) {
    const Measured measured = Collect(kind, prefer_in_situ);
    const TypicalRate rate(measured.samples);
    kind.by_op.clear();
    kind.by_class.clear();
    for (const auto& [name, ops] : measured.by_op) {
      const Fitting fitting({&ops}, rate);
      if (fitting.size() >= kMinForOp) kind.by_op[name] = fitting.Fit();
    }
    for (const auto& [name, kinds] : measured.by_class) {
      const Fitting fitting(kinds, rate);
      if (fitting.size() >= kMinForClass) kind.by_class[name] = fitting.Fit();
    }
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
