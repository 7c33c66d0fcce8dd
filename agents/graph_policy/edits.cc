#include "agents/graph_policy/edits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agents/shared/devices.h"
#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

enum Kind : int { kSingle, kNeighbors, kBlock, kWhole, kNumKinds };

constexpr double kAnyPivot = 0.02;  // least weight of a pivot, relative to the mean
constexpr int kTriesPerEdit = 4;

}  // namespace

EditProposer::EditProposer(const Problem& problem, const EditConfig& config)
    : problem_(problem),
      attraction_(config.attraction),
      position_(problem.num_groups()),
      inside_(problem.num_groups(), 0),
      weight_(problem.num_devices()) {
  double sum = 0;
  for (const double weight : {config.single, config.neighbors, config.block, config.whole}) {
    kinds_.push_back(sum += weight);
  }
  if (sum <= 0) throw SettingError("edits", "expected a weight above 0, got none");
  for (int i = 0; i < problem.num_groups(); ++i) position_[problem.group_order()[i]] = i;
  for (int g = 0; g < problem.num_groups(); ++g) {
    const int devices = std::popcount(problem.allowed_devices(g));
    if (devices > 1) movable_.push_back(g);
    num_single_moves_ += devices - 1;
  }
}

int EditProposer::DrawPivot(Rng& rng) const {
  const double at = Uniform01(rng) * leaving_.back();
  const auto found = std::ranges::upper_bound(leaving_, at) - leaving_.begin();
  return movable_[std::min<std::ptrdiff_t>(found, std::ssize(movable_) - 1)];
}

void EditProposer::DrawWindow(Rng& rng, int pivot, int kind) {
  window_.clear();
  const int num_groups = problem_.num_groups();
  if (kind == kSingle || num_groups < 2) return;
  const double most = std::max(1.0, std::log2(num_groups / 2.0));
  const int size = std::min(
      num_groups, static_cast<int>(std::lround(std::exp2(1 + Uniform01(rng) * (most - 1)))));
  if (kind == kBlock) {
    const int first = std::clamp(position_[pivot] - UniformInt(rng, size), 0, num_groups - size);
    for (int i = first; i < first + size; ++i) {
      const int g = problem_.group_order()[i];
      if (g != pivot && std::popcount(problem_.allowed_devices(g)) > 1) window_.push_back(g);
    }
    return;
  }
  inside_[pivot] = 1;
  window_.push_back(pivot);
  for (int tries = 4 * size; tries > 0 && std::ssize(window_) < size; --tries) {
    const int from = window_[UniformInt(rng, static_cast<int>(window_.size()))];
    const auto edges = problem_.neighbors(from);
    if (edges.empty()) break;
    const int next = edges[UniformInt(rng, static_cast<int>(edges.size()))].neighbor;
    if (inside_[next] || std::popcount(problem_.allowed_devices(next)) < 2) continue;
    inside_[next] = 1;
    window_.push_back(next);
  }
  for (const int g : window_) inside_[g] = 0;
  window_.erase(window_.begin());
}

int EditProposer::DrawDevice(Rng& rng,
                             const Matrix& probability,
                             int group,
                             int without,
                             int aim,
                             double by) {
  double sum = 0;
  for (int d = 0; d < problem_.num_devices(); ++d) {
    double p = d == without ? 0.0 : probability(group, d);
    if (d == aim) p *= by;
    weight_[d] = sum += p;
  }
  if (!(sum > 0)) return -1;
  const double at = Uniform01(rng) * sum;
  for (int d = 0; d < problem_.num_devices(); ++d) {
    if (at < weight_[d]) return d;
  }
  return -1;
}

bool EditProposer::Accept(const Placement& base,
                          std::size_t first,
                          TriedEdits& tried,
                          EditBatch& batch) const {
  std::uint64_t hash = 0;
  for (std::size_t i = first; i < batch.decisions.size(); ++i) {
    const auto& [edit, group, device, aim, attraction, leaves] = batch.decisions[i];
    if (device != base.device[group]) {
      hash += HashOf({group, static_cast<DeviceIndex>(device)});
    }
  }
  if (hash == 0 || !tried.insert(hash).second) {
    batch.decisions.resize(first);
    return false;
  }
  for (std::size_t i = first; i < batch.decisions.size(); ++i) {
    const EditBatch::Decision& decision = batch.decisions[i];
    if (decision.device == base.device[decision.group]) continue;
    batch.moves.Add(decision.group, decision.device);
  }
  batch.moves.End();
  return true;
}

void EditProposer::Draw(Rng& rng,
                        const Placement& base,
                        const Matrix& probability,
                        int count,
                        bool greedy,
                        TriedEdits& tried,
                        EditBatch& batch) {
  batch.moves.Clear();
  batch.decisions.clear();
  leaving_.clear();
  double sum = 0, any = 0;
  for (const int g : movable_) any += 1.0 - probability(g, base.device[g]);
  any = std::max(any, 1e-6) * kAnyPivot / static_cast<double>(movable_.size());
  for (const int g : movable_) {
    leaving_.push_back(sum += any + std::max(0.0F, 1.0F - probability(g, base.device[g])));
  }
  if (greedy) {
    for (const int g : movable_) {
      int device = 0;
      probability.row(g).maxCoeff(&device);
      batch.decisions.push_back({0, g, device});
    }
    Accept(base, 0, tried, batch);
    batch.decisions.clear();  // the greedy edit was not drawn, so there is nothing to learn from it
  }
  for (int tries = kTriesPerEdit * count; tries > 0 && std::ssize(batch.moves) < count; --tries) {
    const std::size_t first = batch.decisions.size();
    const int edit = static_cast<int>(batch.size());
    const double at = Uniform01(rng) * kinds_.back();
    const int kind = static_cast<int>(std::ranges::upper_bound(kinds_, at) - kinds_.begin());
    if (kind >= kWhole) {
      for (const int g : movable_) {
        const int device = DrawDevice(rng, probability, g, -1, -1, 1);
        if (device >= 0) batch.decisions.push_back({edit, g, device});
      }
    } else {
      const int pivot = DrawPivot(rng);
      const int aim = DrawDevice(rng, probability, pivot, base.device[pivot], -1, 1);
      if (aim < 0) continue;
      batch.decisions.push_back({edit, pivot, aim, -1, 0, true});
      DrawWindow(rng, pivot, kind);
      const double attraction = attraction_ * Uniform01(rng), by = std::exp(attraction);
      for (const int g : window_) {
        const int device = DrawDevice(rng, probability, g, -1, aim, by);
        if (device < 0) continue;
        batch.decisions.push_back({edit, g, device, aim, static_cast<float>(attraction)});
      }
    }
    Accept(base, first, tried, batch);
  }
}

Var EditProposer::LogProbability(Tape& tape,
                                 Var logits,
                                 const Placement& base,
                                 const EditBatch& batch) const {
  const auto count = std::ssize(batch.decisions);
  const int num_devices = problem_.num_devices();
  std::vector<int> group, device;
  Matrix raised = Matrix::Zero(count, num_devices), allowed(count, num_devices);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const EditBatch::Decision& decision = batch.decisions[i];
    group.push_back(decision.group);
    device.push_back(decision.device);
    if (decision.aim >= 0) raised(i, decision.aim) = decision.attraction;
    for (int d = 0; d < num_devices; ++d) {
      allowed(i, d) = problem_.allowed(decision.group, d) &&
                      !(decision.leaves && d == base.device[decision.group]);
    }
  }
  const Var rows =
      Add(tape, Gather(tape, logits, std::move(group)), tape.Constant(std::move(raised)));
  return Pick(tape, LogSoftmax(tape, rows, &allowed), std::move(device));
}

}  // namespace emplace
