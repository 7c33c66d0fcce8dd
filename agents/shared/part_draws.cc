#include "agents/shared/part_draws.h"

#include <algorithm>
#include <cmath>

#include "agents/shared/merged_groups.h"
#include "framework/learn/categorical.h"

namespace emplace {
namespace {

constexpr int kFewestGroups = 32;

// Ratio between the numbers of parts of a partition and the one before.
constexpr int kFiner = 4;

}  // namespace

void PartDrawConfig::Visit(FieldVisitor& v) {
  v.Field("first",
          first,
          Between(0, 1 << 16),
          "number of parts in the coarsest partition, each next one has four times as many; 0: "
          "groups are drawn independently");
  v.Field(
      "share",
      share,
      Between(0, 1),
      "share of the remaining updates of the budget that draw parts first, from coarse to fine");
  v.Field("probability",
          probability,
          Between(0, 1),
          "probability that a later update draws the parts of a random partition");
}

PartDraws::PartDraws(const PartDrawConfig& config, const Problem& problem, int num_groups)
    : config_(config), num_devices_(problem.num_devices()) {
  if (config.first == 0 || num_groups < kFewestGroups) return;
  for (int parts = config.first; 2 * parts <= num_groups; parts *= kFiner) {
    partitions_.push_back(MergedGroups(problem, parts));
  }
}

void PartDraws::Restart(std::int64_t updates_left, bool untrained) {
  const double updates = untrained ? config_.share * static_cast<double>(updates_left) : 0;
  first_updates_ = static_cast<std::int64_t>(updates);
}

void PartDraws::Begin(std::int64_t update, int rows, Rng& rng) {
  level_ = -1;
  if (partitions_.empty()) return;
  const auto levels = static_cast<int>(partitions_.size());
  if (update < first_updates_) {
    level_ = std::max(coarsest_, static_cast<int>(update * levels / first_updates_));
  } else if (config_.probability > 0 && Uniform01(rng) < config_.probability) {
    level_ = coarsest_ + UniformInt(rng, levels - coarsest_);
  }
  if (level_ < 0) return;
  num_rows_ = rows;
  noise_.resize((1 + *std::ranges::max_element(part())) * rows, num_devices_);
  for (float& x : noise_.reshaped<Eigen::RowMajor>()) {
    x = static_cast<float>(-std::log(-std::log1p(-Uniform01(rng))));
  }
}

void PartDraws::End(double feasible) {
  constexpr double kFewest = 0.5;
  if (level_ < 0 || feasible >= kFewest) return;
  coarsest_ = std::min(level_ + 1, static_cast<int>(partitions_.size()) - 1);
}

void PartDraws::VisitState(StateVisitor& v) {
  v.Count("a number of first updates", first_updates_);
  v.Int("a partition", coarsest_, 0, std::max(0, static_cast<int>(partitions_.size()) - 1));
}

std::span<const int> PartDraws::part() const {
  return level_ < 0 ? std::span<const int>() : partitions_[level_];
}

std::vector<int> PartDraws::Draw(std::span<const int> rows,
                                 std::span<const int> parts,
                                 const Matrix& log_probabilities) const {
  Matrix noisy = log_probabilities;
  for (int i = 0; i < noisy.rows(); ++i) noisy.row(i) += noise_.row(parts[i] * num_rows_ + rows[i]);
  return ArgmaxRows(noisy);
}

}  // namespace emplace
