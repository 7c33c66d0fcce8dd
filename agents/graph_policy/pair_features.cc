#include "agents/graph_policy/pair_features.h"

#include <algorithm>
#include <cmath>

#include "agents/shared/list_schedule.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr double kNearCritical = 0.02;  // largest slack of a critical group, as a share of the step
constexpr double kTypicalBytes = 1e6;   // message size for the comparison of links [B]

double SignedRoot(double x) {
  return std::copysign(std::sqrt(std::abs(x)), x);
}

// Returns the matrix of the entries, each row divided by its sum.
std::shared_ptr<const SparseMatrix> Shares(int n, std::vector<Eigen::Triplet<float>>& entries) {
  std::vector<float> sum(n);
  for (const auto& entry : entries) sum[entry.row()] += entry.value();
  for (auto& entry : entries) {
    entry = {entry.row(), entry.col(), entry.value() / sum[entry.row()]};
  }
  auto matrix = std::make_shared<SparseMatrix>(n, n);
  matrix->setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

}  // namespace

const std::array<const char*, PairFeatures::kCount>& PairFeatures::Names() {
  static const std::array<const char*, kCount> names = {
      "allowed",
      "here",
      "sqrt(cost)",
      "log2(cost over least cost) / 4",
      "sqrt(messages)",
      "sqrt(messages now - then)",
      "sqrt(critical messages)",
      "sqrt(critical messages now - then)",
      "share of the bytes from earlier groups that are there",
      "share of the bytes to later groups that are there",
      "load with the group",
      "load with the group - largest load now",
      "work of the device meanwhile",
      "work of the device within the slack",
      "memory with the group",
      "does not fit there",
      "log(its mean message over that of all)",
      "sqrt(cost now)",
      "sqrt(slack)",
      "sqrt(critical time)",
      "sqrt(waits)",
      "start",
      "sqrt(start to end)",
      "sqrt(messages now)",
      "share of the bytes that stay on the device",
      "sqrt(share of the resident bytes)",
      "log(1 + neighbours) / 2",
      "position",
      "mean load",
      "least work over step time",
      "does not fit",
      "log2(devices) / 3",
  };
  return names;
}

PairFeatures::PairFeatures(const Problem& problem)
    : problem_(problem),
      facts_(problem),
      position_(problem.num_groups()),
      least_(problem.num_groups(), static_cast<double>(kMaxNanos)),
      bytes_(problem.num_groups()),
      link_(problem.num_devices()),
      work_(problem.num_groups()),
      messages_(problem.num_devices()),
      critical_(problem.num_devices()),
      from_(problem.num_devices()),
      to_(problem.num_devices()) {
  const int num_groups = problem.num_groups(), num_devices = problem.num_devices();
  for (int i = 0; i < num_groups; ++i) position_[problem.group_order()[i]] = i;
  std::uint64_t all_devices = 0;
  for (int g = 0; g < num_groups; ++g) {
    all_devices |= problem.allowed_devices(g);
    for (int d = 0; d < num_devices; ++d) {
      if (!problem.allowed(g, d)) continue;
      least_[g] = std::min(least_[g], static_cast<double>(problem.group_cost(g, d)));
    }
    least_work_ += least_[g];
    resident_ += static_cast<double>(problem.group_resident_bytes(g));
  }
  const MeanCommunication mean = ComputeMeanCommunication(problem.cluster(), all_devices);
  std::vector<Eigen::Triplet<float>> earlier, later;
  for (int g = 0; g < num_groups; ++g) {
    for (const Problem::Edge& edge : problem.neighbors(g)) {
      bytes_[g] += static_cast<double>(edge.bytes);
      const auto time = static_cast<float>(mean(edge.bytes) + 1);
      const bool before = position_[edge.neighbor] < position_[g];
      (before ? earlier : later).emplace_back(g, edge.neighbor, time);
    }
  }
  earlier_ = Shares(num_groups, earlier);
  later_ = Shares(num_groups, later);
  for (int d = 0; d < num_devices && num_devices > 1; ++d) {
    double sum = 0;
    int routes = 0;
    for (int other = 0; other < num_devices; ++other) {
      if (other == d || problem.cluster().route(d, other).empty()) continue;
      sum += facts_.TransferTime(d, other, kTypicalBytes);
      ++routes;
    }
    const double all = mean.fixed + mean.per_byte * kTypicalBytes;
    if (routes > 0 && sum > 0 && all > 0) link_[d] = std::log(sum / routes / all);
  }
  values_.setZero(std::ptrdiff_t{num_groups} * num_devices, kCount);
}

void PairFeatures::SetMessages(int group) {
  std::ranges::fill(messages_, 0);
  std::ranges::fill(critical_, 0);
  std::ranges::fill(from_, 0);
  std::ranges::fill(to_, 0);
  const bool critical = facts_.group(group).slack < kNearCritical;
  for (const Problem::Edge& edge : problem_.neighbors(group)) {
    const int there = facts_.placement().device[edge.neighbor];
    const auto bytes = static_cast<double>(edge.bytes);
    const bool both = critical && facts_.group(edge.neighbor).slack < kNearCritical;
    const bool before = position_[edge.neighbor] < position_[group];
    (before ? from_ : to_)[there] += bytes / std::max(1.0, bytes_[group]);
    for (int d = 0; d < problem_.num_devices(); ++d) {
      if (d == there || !problem_.allowed(group, d)) continue;
      const double time = facts_.TransferTime(d, there, bytes) / facts_.step_time();
      messages_[d] += time;
      if (both) critical_[d] += time;
    }
  }
}

void PairFeatures::Set(const Placement& placement, const Outcome& outcome) {
  facts_.Set(placement, outcome);
  const int num_devices = problem_.num_devices();
  const double step = facts_.step_time();
  double mean_load = 0, largest_load = 0, sum = 0;
  for (int d = 0; d < num_devices; ++d) {
    mean_load += facts_.device(d).load / num_devices;
    largest_load = std::max(largest_load, facts_.device(d).load);
  }
  for (int g = 0; g < problem_.num_groups(); ++g) {
    const int here = placement.device[g];
    const GroupFacts& group = facts_.group(g);
    const double cost_here = static_cast<double>(problem_.group_cost(g, here)) / step;
    work_[g] = static_cast<float>(cost_here);
    sum += cost_here;
    SetMessages(g);
    const double start = std::min(group.start, group.end), end = group.end;
    const double window = std::max(1e-4, end - start);
    const double late = std::min(1.0, end + std::max(0.0, group.slack));
    const auto resident = static_cast<double>(problem_.group_resident_bytes(g));
    for (int d = 0; d < num_devices; ++d) {
      if (!problem_.allowed(g, d)) continue;
      const Device& device = problem_.cluster().device(d);
      const auto cost = static_cast<double>(problem_.group_cost(g, d));
      const double load = facts_.device(d).load + (d == here ? 0 : cost / step / device.slots);
      double memory = 0;
      if (device.memory != kUnlimitedMemory && device.memory > 0) {
        const double added = d == here ? 0 : resident / static_cast<double>(device.memory);
        memory = std::min(2.0, facts_.device(d).memory + added);
      }
      const double ratio = std::log2((cost + 1) / (least_[g] + 1)) / 4;
      float* next = values_.row(std::ptrdiff_t{g} * num_devices + d).data();
      const float* const begin = next;
      const auto write = [&](double x) { *next++ = static_cast<float>(x); };
      write(1);
      write(d == here ? 1 : 0);
      write(SignedRoot(cost / step));
      write(std::min(2.0, ratio));
      write(SignedRoot(messages_[d]));
      write(SignedRoot(messages_[here] - messages_[d]));
      write(SignedRoot(critical_[d]));
      write(SignedRoot(critical_[here] - critical_[d]));
      write(from_[d]);
      write(to_[d]);
      write(load);
      write(load - largest_load);
      write(facts_.Busy(d, start, end) / window);
      write(facts_.Busy(d, start, late) / std::max(1e-4, late - start));
      write(memory);
      write(facts_.device(d).deficit ? 1 : 0);
      write(link_[d]);
      write(SignedRoot(cost_here));
      write(SignedRoot(std::max(0.0, group.slack)));
      write(SignedRoot(group.critical));
      write(SignedRoot(group.wait));
      write(start);
      write(SignedRoot(window));
      write(SignedRoot(messages_[here]));
      write(from_[here] + to_[here]);
      write(SignedRoot(resident / std::max(1.0, resident_)));
      write(std::log1p(static_cast<double>(problem_.neighbors(g).size())) / 2);
      write(position_[g] / static_cast<double>(problem_.num_groups()));
      write(mean_load);
      write(std::min(1.0, least_work_ / step));
      write(outcome.feasible ? 0 : 1);
      write(std::log2(num_devices) / 3);
      EMPLACE_CHECK(next == begin + kCount);
    }
  }
  for (float& share : work_) share = static_cast<float>(share / std::max(1e-12, sum));
}

Matrix AllowedPairs(const Problem& problem) {
  Matrix allowed(problem.num_groups(), problem.num_devices());
  for (int g = 0; g < problem.num_groups(); ++g) {
    for (int d = 0; d < problem.num_devices(); ++d) allowed(g, d) = problem.allowed(g, d);
  }
  return allowed;
}

}  // namespace emplace
