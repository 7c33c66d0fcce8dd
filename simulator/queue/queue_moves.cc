// The device of an op first matters when an input of the op is served, since that input is then
// sent to the device; for an op that awaits nothing, it matters when the op itself is served.
// Between ops of one group nothing is sent, whatever the device of the group.

#include "simulator/queue/queue_moves.h"

#include <algorithm>

namespace emplace {
namespace {

// More snapshots cost memory and save ops: on average half the distance between two of them.
constexpr size_t kMostQueueSnapshots = 24;
constexpr size_t kMostQueueSnapshotBytes = size_t{64} << 20;
// The run of the base and its snapshots take as much time as a few neighbours save.
constexpr size_t kFewestNeighbors = 8;

}  // namespace

QueueMoves::QueueMoves(const CompiledProblem& problem)
    : p_(problem), run_(problem), times_(problem), device_(problem.num_ops) {
  const int num_groups = 1 + *std::max_element(p_.group_at.begin(), p_.group_at.end());
  op_begin_.assign(num_groups + 1, 0);
  for (const int group : p_.group_at) ++op_begin_[group + 1];
  for (int group = 0; group < num_groups; ++group) op_begin_[group + 1] += op_begin_[group];
  std::vector<int> next = op_begin_;
  ops_.resize(p_.num_ops);
  for (int position = 0; position < p_.num_ops; ++position) {
    ops_[next[p_.group_at[position]]++] = position;
  }
  first_effect_.resize(num_groups);
  const size_t affordable = kMostQueueSnapshotBytes / run_.most_snapshot_bytes();
  snapshots_.resize(
      std::clamp<size_t>(affordable, 1, std::min<size_t>(kMostQueueSnapshots, p_.num_ops)));
}

bool QueueMoves::SetBase(std::span<const std::uint8_t> base, size_t count, ServerState& servers) {
  if (!std::equal(base_.begin(), base_.end(), base.begin(), base.end())) {
    base_.assign(base.begin(), base.end());
    asked_ = 0;
    simulated_ = false;
  }
  asked_ += count;
  if (!simulated_ && asked_ < kFewestNeighbors) return false;
  if (!simulated_) done_ = RunBase(servers);
  simulated_ = true;
  return done_;
}

bool QueueMoves::RunBase(ServerState& servers) {
  for (int position = 0; position < p_.num_ops; ++position) {
    device_[position] = base_[p_.group_at[position]];
  }
  moved_.clear();
  kept_ = 0;
  run_.Start(device_.data(), times_);
  for (int i = 0; i < num_snapshots(); ++i) {
    run_.Save(times_, snapshots_[i]);
    const std::int64_t end = std::int64_t{i + 1} * p_.num_ops / num_snapshots();
    if (!run_.Serve(static_cast<int>(end), times_)) return false;
  }
  if (!run_.End(device_.data(), servers, times_, nullptr)) return false;
  start_ = times_.start;
  finish_ = times_.finish;
  FindFirstEffects();
  return true;
}

void QueueMoves::FindFirstEffects() {
  std::fill(first_effect_.begin(), first_effect_.end(), p_.num_ops);
  for (int position = 0; position < p_.num_ops; ++position) {
    const int group = p_.group_at[position];
    int first = p_.num_ops;
    const int begin = p_.read_begin[position], end = p_.read_begin[position + 1];
    if (begin == end) first = run_.IndexOf(position);
    for (int i = begin; i < end; ++i) {
      const int producer = p_.items[p_.reads[i]].producer;
      if (p_.group_at[producer] != group) first = std::min(first, run_.IndexOf(producer));
    }
    first_effect_[group] = std::min(first_effect_[group], first);
  }
}

int QueueMoves::SnapshotFor(std::span<const Move> moves) const {
  int first = p_.num_ops;
  for (const Move& move : moves) {
    if (base_[move.group] == move.device) continue;
    first = std::min(first, first_effect_[move.group]);
  }
  int snapshot = num_snapshots() - 1;
  while (snapshots_[snapshot].served > first) --snapshot;
  return snapshot;
}

void QueueMoves::Place(int group, int device) {
  for (const int position : OpsOf(group)) {
    device_[position] = static_cast<std::uint8_t>(device);
    run_.Place(position, device);
  }
}

bool QueueMoves::Run(std::span<const Move> moves, ServerState& servers, ChannelOutcome* channels) {
  for (; !moved_.empty(); moved_.pop_back()) Place(moved_.back(), base_[moved_.back()]);
  const auto& snapshot = snapshots_[SnapshotFor(moves)];
  const bool kept = snapshot.served <= kept_ && !run_.HasReordered(snapshot);
  if (!kept) {
    times_.start = start_;
    times_.finish = finish_;
  }
  run_.Load(snapshot, !kept, times_);
  for (const Move& move : moves) {
    moved_.push_back(move.group);
    Place(move.group, move.device);
  }
  const bool done = run_.Serve(p_.num_ops, times_);
  kept_ = snapshot.served;
  return done && run_.End(device_.data(), servers, times_, channels);
}

}  // namespace emplace
