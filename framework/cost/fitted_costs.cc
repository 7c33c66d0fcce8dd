#include "framework/cost/fitted_costs.h"

#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/Dense>

namespace emplace {
namespace {

const RooflineFit* FindFit(const std::map<std::string, RooflineFit>& fits,
                           const std::string& name) {
  const auto found = fits.find(name);
  return found != fits.end() ? &found->second : nullptr;
}

Neighbours MakeNeighbours(const KindCosts& costs,
                          const std::string& kind,
                          const RooflineFit& fit,
                          bool prefer_in_situ) {
  std::vector<OpFeatures> ops;
  std::vector<double> residuals;
  for (const OpMeasurement& op : costs.ops) {
    if (op.kind != kind) continue;
    const std::optional<double> time = FittedTime(op, prefer_in_situ);
    const auto bytes = static_cast<double>(op.bytes);
    const double fitted = Predict(fit, op.flops, bytes);
    if (!time || !(fitted > 0)) continue;
    ops.push_back(MakeOpFeatures(op.signature, op.flops, bytes));
    residuals.push_back(std::log(*time / fitted));
  }
  const Eigen::Map<const Eigen::VectorXd> residual(residuals.data(),
                                                   static_cast<Eigen::Index>(residuals.size()));
  return {std::move(ops), residual, fit.neighbour_length};
}

}  // namespace

const FittedCosts::Prepared& FittedCosts::Prepare(const std::string& kind, OpClass op_class) {
  const auto [entry, is_new] = by_kind_.try_emplace(kind);
  Prepared& prepared = entry->second;
  if (!is_new) return prepared;
  prepared.fit = FindFit(costs_.by_op, kind);
  prepared.is_of_kind = prepared.fit != nullptr;
  if (!prepared.is_of_kind) {
    prepared.fit = FindFit(costs_.by_class, std::string(ToString(op_class)));
  }
  if (prepared.fit != nullptr && prepared.fit->neighbour_length > 0) {
    prepared.neighbours = MakeNeighbours(costs_, kind, *prepared.fit, prefer_in_situ_);
  }
  return prepared;
}

std::optional<FittedCosts::Found> FittedCosts::Find(const std::string& kind,
                                                    OpClass op_class,
                                                    std::string_view signature,
                                                    double flops,
                                                    double bytes) {
  const Prepared& prepared = Prepare(kind, op_class);
  if (prepared.fit == nullptr) return std::nullopt;
  double nanos = Predict(*prepared.fit, flops, bytes);
  if (prepared.neighbours) {
    nanos *= std::exp(prepared.neighbours->LogFactor(MakeOpFeatures(signature, flops, bytes)));
  }
  return Found{nanos, prepared.fit, prepared.is_of_kind};
}

}  // namespace emplace
