#include "agents/graph_policy/pair_network.h"

#include <cmath>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace internal {
extern const std::string_view kDefaultGraphPolicy;  // default_policy.txt
}

namespace {

constexpr float kFarthestFeature = 8;  // distance from the mean, in deviations
constexpr float kLeastFeatureDeviation = 1e-3F;
constexpr float kFirstStay = 3;       // makes a group's present device 20 times as likely at first
constexpr float kFirstLogits = 0.1F;  // factor of the last layer's first weights
constexpr int kMostWidth = 1024, kMostRounds = 64;

// Returns a matrix that sums pairs over groups or devices: [rows, num_groups * num_devices].
std::shared_ptr<const SparseMatrix> Sums(int rows,
                                         Eigen::Index pairs,
                                         const std::vector<Eigen::Triplet<float>>& entries) {
  auto matrix = std::make_shared<SparseMatrix>(rows, pairs);
  matrix->setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

// Visits the width and the number of rounds, with which a policy's text begins.
void VisitShape(StateVisitor& v, int& width, int& rounds) {
  v.Begin("graph_policy");
  v.Int("a width", width, 1, kMostWidth);
  v.Int("a number of rounds", rounds, 0, kMostRounds);
}

}  // namespace

PairNetwork::PairNetwork(int width, int rounds, Rng& rng)
    : width_(width),
      first_(parameters_, "first", PairFeatures::kCount, width, rng),
      rounds_([&] {
        std::vector<Round> all;
        for (int r = 0; r < rounds; ++r) {
          const std::string name = fmt::format("round{}.", r);
          all.push_back({Linear(parameters_, name + "pair", 3 * width, width, rng),
                         Linear(parameters_, name + "group", 2 * width, width, rng),
                         Linear(parameters_, name + "device", 2 * width, width, rng)});
        }
        return all;
      }()),
      last_(parameters_, "last", width, 1, rng),
      stay_(&parameters_.Add("stay", 1, 1)),
      mean_(Matrix::Zero(1, PairFeatures::kCount)),
      scale_(Matrix::Ones(1, PairFeatures::kCount)) {
  stay_->value(0, 0) = kFirstStay;
  for (Parameter& parameter : parameters_.all()) {
    if (parameter.name == "last.weights") parameter.value *= kFirstLogits;
  }
}

std::shared_ptr<PairNetwork> PairNetwork::Copy() const {
  Rng rng(0);  // all weights are copied
  auto copy = std::make_shared<PairNetwork>(width_, static_cast<int>(rounds_.size()), rng);
  CopyValues(parameters_, copy->parameters_);
  copy->SetScale(*this);
  return copy;
}

std::shared_ptr<PairNetwork> PairNetwork::Read(const std::string& policy) {
  try {
    std::istringstream in(policy == "default" ? std::string(internal::kDefaultGraphPolicy)
                                              : ReadFile(policy));
    StateVisitor v(in);
    int width = 0, rounds = 0;
    VisitShape(v, width, rounds);
    Rng rng(0);  // all weights are read
    auto network = std::make_shared<PairNetwork>(width, rounds, rng);
    VisitParameters(v, network->parameters_);
    network->VisitScale(v);
    return network;
  } catch (const InputError& error) {
    throw SettingError("policy", error.what());
  }
}

void PairNetwork::Normalize(const Matrix& features) {
  Matrix allowed(features.rows(), features.cols());
  std::ptrdiff_t count = 0;
  for (std::ptrdiff_t i = 0; i < features.rows(); ++i) {
    if (features(i, 0) > 0) allowed.row(count++) = features.row(i);
  }
  const Matrix rows = allowed.topRows(count);
  mean_ = rows.colwise().mean();
  const Matrix far = rows.rowwise() - mean_.row(0);
  const Matrix variance = far.array().square().colwise().mean();
  scale_ = (variance.array().sqrt() + kLeastFeatureDeviation).inverse();
}

void PairNetwork::SetScale(const PairNetwork& from) {
  mean_ = from.mean_;
  scale_ = from.scale_;
}

Var PairNetwork::Logits(Tape& tape, const PairFeatures& at) const {
  const Problem& problem = at.problem();
  const int num_groups = problem.num_groups(), num_devices = problem.num_devices();
  const int pairs = num_groups * num_devices;
  std::vector<int> here(num_groups), group_of(pairs), device_of(pairs);
  Matrix is_here = Matrix::Zero(pairs, 1);
  std::vector<Eigen::Triplet<float>> of_group, of_device, on_device;
  for (int g = 0; g < num_groups; ++g) {
    here[g] = g * num_devices + at.placement().device[g];
    is_here(here[g], 0) = 1;
    on_device.emplace_back(
        at.placement().device[g], here[g], at.work()[g] * static_cast<float>(num_devices));
    for (int d = 0; d < num_devices; ++d) {
      const int pair = g * num_devices + d;
      group_of[pair] = g;
      device_of[pair] = d;
      of_group.emplace_back(g, pair, 1.0F / static_cast<float>(num_devices));
      of_device.emplace_back(d, pair, 1.0F / static_cast<float>(num_groups));
    }
  }
  const auto group_mean = Sums(num_groups, pairs, of_group);
  const auto device_mean = Sums(num_devices, pairs, of_device);
  const auto members = Sums(num_devices, pairs, on_device);

  const Matrix far = at.values().rowwise() - mean_.row(0);
  Matrix z = far.array().rowwise() * scale_.row(0).array();
  z = z.cwiseMax(-kFarthestFeature).cwiseMin(kFarthestFeature);
  Var h = first_.WithRelu(tape, tape.Constant(std::move(z)));
  for (const Round& round : rounds_) {
    const Var own = round.pair(tape,
                               ConcatCols(tape,
                                          {h,
                                           SparseMatMul(tape, at.earlier(), h, num_devices),
                                           SparseMatMul(tape, at.later(), h, num_devices)}));
    const Var group = round.group(
        tape, ConcatCols(tape, {SparseMatMul(tape, group_mean, h), Gather(tape, h, here)}));
    const Var device = round.device(
        tape,
        ConcatCols(tape, {SparseMatMul(tape, device_mean, h), SparseMatMul(tape, members, h)}));
    const Var both = Add(tape, Gather(tape, group, group_of), Gather(tape, device, device_of));
    h = Add(tape, h, Relu(tape, Add(tape, own, both)));
  }
  const Var stay = MatMul(tape, tape.Constant(std::move(is_here)), tape.Use(*stay_));
  return Reshape(tape, Add(tape, last_(tape, h), stay), num_groups, num_devices);
}

void PairNetwork::SavePolicy(std::ostream& out) {
  StateVisitor v(out);
  int width = width_, rounds = static_cast<int>(rounds_.size());
  VisitShape(v, width, rounds);
  VisitParameters(v, parameters_);
  VisitScale(v);
}

void PairNetwork::VisitScale(StateVisitor& v) {
  v.Matrix("the features' mean", mean_);
  v.Matrix("the features' scale", scale_);
}

}  // namespace emplace
