#include "agents/shared/move_features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr double kNearlyCritical = 0.02;  // largest slack of a critical group, share of the step

float Root(double x) {
  return static_cast<float>(std::copysign(std::sqrt(std::abs(x)), x));
}

}  // namespace

// Sums over the groups that move, as shares of the step time.
struct MoveFeatures::Sums {
  double cost_before = 0, cost_after = 0;
  double slack = 1, critical = 0, wait = 0, longest_wait = 0, start = 1, end = 0;
  double cut = 0, saved = 0, changed = 0;       // messages that begin, end, and change
  double critical_cut = 0, critical_saved = 0;  // the same between two critical groups
  double longest_cut = 0, longest_saved = 0;
  double num_cut = 0, num_saved = 0;
  double resident = 0;  // [B]
};

const std::array<const char*, MoveFeatures::kCount>& MoveFeatures::Names() {
  static const std::array<const char*, kCount> names = {
      "sqrt(cost before)",
      "sqrt(cost after)",
      "sqrt(cost before - after)",
      "load of the first device",
      "load of its aim",
      "sqrt(largest load after - before)",
      "sqrt(squared loads after - before)",
      "sqrt(least slack)",
      "sqrt(critical time)",
      "sqrt(waits)",
      "sqrt(longest wait)",
      "first start",
      "sqrt(first start to last end)",
      "sqrt(messages that begin)",
      "sqrt(messages that end)",
      "sqrt(messages that change, after - before)",
      "sqrt(critical messages that begin)",
      "sqrt(critical messages that end)",
      "sqrt(longest that begins)",
      "sqrt(longest that ends)",
      "sqrt(messages before - after)",
      "log(1 + messages that begin)",
      "log(1 + messages that end)",
      "log2(groups) / 4",
      "several aims",
      "work of the aim meanwhile",
      "work of the first device meanwhile",
      "memory of the aim after",
      "does not fit",
      "does not fit on the first device",
      "does not fit on the aim",
      "mean load",
      "least work over step time",
      "critical share of the cost",
  };
  return names;
}

MoveFeatures::MoveFeatures(const Problem& problem)
    : problem_(problem),
      facts_(problem),
      moved_(problem.num_groups(), 0),
      target_(problem.num_groups(), 0) {
  for (int g = 0; g < problem.num_groups(); ++g) {
    Nanos least = kMaxNanos;
    for (int d = 0; d < problem.num_devices(); ++d) {
      if (problem.allowed(g, d)) least = std::min(least, problem.group_cost(g, d));
    }
    least_work_ += static_cast<double>(least);
  }
}

void MoveFeatures::Set(const Placement& placement, const Outcome& outcome) {
  facts_.Set(placement, outcome);
  any_deficit_ = outcome.feasible ? 0 : 1;
  mean_load_ = 0;
  for (int d = 0; d < problem_.num_devices(); ++d) {
    mean_load_ += facts_.device(d).load / problem_.num_devices();
  }
}

void MoveFeatures::AddEdges(const Move& move, Sums& sums) const {
  const int from = facts_.placement().device[move.group];
  const bool critical = facts_.group(move.group).slack < kNearlyCritical;
  for (const Problem::Edge& edge : problem_.neighbors(move.group)) {
    const int before = facts_.placement().device[edge.neighbor];
    const auto bytes = static_cast<double>(edge.bytes);
    const auto time = [&](int a, int b) {
      return facts_.TransferTime(a, b, bytes) / facts_.step_time();
    };
    const double old_time = time(from, before), new_time = time(move.device, After(edge.neighbor));
    const double share = moved_[edge.neighbor] ? 0.5 : 1;  // counted from both ends if both move
    const bool both_critical = critical && facts_.group(edge.neighbor).slack < kNearlyCritical;
    if (old_time == 0 && new_time > 0) {
      sums.cut += share * new_time;
      sums.num_cut += share;
      sums.longest_cut = std::max(sums.longest_cut, new_time);
      if (both_critical) sums.critical_cut += share * new_time;
    } else if (old_time > 0 && new_time == 0) {
      sums.saved += share * old_time;
      sums.num_saved += share;
      sums.longest_saved = std::max(sums.longest_saved, old_time);
      if (both_critical) sums.critical_saved += share * old_time;
    } else {
      sums.changed += share * (new_time - old_time);
    }
  }
}

void MoveFeatures::Write(std::span<const Move> moves, std::span<float> row) {
  for (const Move& move : moves) {
    moved_[move.group] = 1;
    target_[move.group] = move.device;
  }
  load_.resize(problem_.num_devices());
  for (int d = 0; d < problem_.num_devices(); ++d) load_[d] = facts_.device(d).load;
  Sums sums;
  int num_moved = 0, first_from = -1, first_aim = -1;
  bool several_aims = false;
  for (const Move& move : moves) {
    const int from = facts_.placement().device[move.group], aim = move.device;
    if (from == aim) continue;
    if (num_moved++ == 0) {
      first_from = from;
      first_aim = aim;
    }
    several_aims |= aim != first_aim;
    const GroupFacts& group = facts_.group(move.group);
    const double before =
        static_cast<double>(problem_.group_cost(move.group, from)) / facts_.step_time();
    const double after =
        static_cast<double>(problem_.group_cost(move.group, aim)) / facts_.step_time();
    sums.cost_before += before;
    sums.cost_after += after;
    load_[from] -= before / problem_.cluster().device(from).slots;
    load_[aim] += after / problem_.cluster().device(aim).slots;
    sums.slack = std::min(sums.slack, group.slack);
    sums.critical += group.critical;
    sums.wait += group.wait;
    sums.longest_wait = std::max(sums.longest_wait, group.wait);
    sums.start = std::min(sums.start, group.start);
    sums.end = std::max(sums.end, group.end);
    sums.resident += static_cast<double>(problem_.group_resident_bytes(move.group));
    AddEdges(move, sums);
  }
  EMPLACE_CHECK(num_moved > 0);
  double largest_before = 0, largest_after = 0, squares = 0;
  for (int d = 0; d < problem_.num_devices(); ++d) {
    const double before = facts_.device(d).load;
    largest_before = std::max(largest_before, before);
    largest_after = std::max(largest_after, load_[d]);
    squares += load_[d] * load_[d] - before * before;
  }
  const std::int64_t memory = problem_.cluster().device(first_aim).memory;
  const double filled =
      memory == kUnlimitedMemory || memory == 0
          ? 0
          : facts_.device(first_aim).memory + sums.resident / static_cast<double>(memory);
  const double window = std::max(1e-4, sums.end - sums.start);

  std::size_t next = 0;
  const auto write = [&](double x) { row[next++] = static_cast<float>(x); };
  write(Root(sums.cost_before));
  write(Root(sums.cost_after));
  write(Root(sums.cost_before - sums.cost_after));
  write(facts_.device(first_from).load);
  write(facts_.device(first_aim).load);
  write(Root(largest_after - largest_before));
  write(Root(squares));
  write(Root(sums.slack));
  write(Root(sums.critical));
  write(Root(sums.wait));
  write(Root(sums.longest_wait));
  write(sums.start);
  write(Root(window));
  write(Root(sums.cut));
  write(Root(sums.saved));
  write(Root(sums.changed));
  write(Root(sums.critical_cut));
  write(Root(sums.critical_saved));
  write(Root(sums.longest_cut));
  write(Root(sums.longest_saved));
  write(Root(sums.saved - sums.cut - sums.changed));
  write(std::log1p(sums.num_cut));
  write(std::log1p(sums.num_saved));
  write(std::log2(num_moved) / 4);
  write(several_aims ? 1 : 0);
  write(facts_.Busy(first_aim, sums.start, sums.end) / window);
  write(facts_.Busy(first_from, sums.start, sums.end) / window);
  write(std::min(2.0, filled));
  write(any_deficit_);
  write(facts_.device(first_from).deficit ? 1 : 0);
  write(facts_.device(first_aim).deficit ? 1 : 0);
  write(mean_load_);
  write(std::min(1.0, least_work_ / facts_.step_time()));
  write(sums.critical / std::max(1e-9, sums.cost_before));
  EMPLACE_CHECK(next == row.size());
  for (const Move& move : moves) moved_[move.group] = 0;
}

}  // namespace emplace
