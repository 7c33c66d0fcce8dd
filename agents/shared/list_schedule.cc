#include "agents/shared/list_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "agents/shared/devices.h"
#include "framework/base/error.h"

namespace emplace {

OpInputs::OpInputs(const Graph& graph) : offsets_{0} {
  for (int op = 0; op < graph.num_ops(); ++op) {
    const std::size_t begin = inputs_.size();
    for (int predecessor : graph.predecessors(op)) inputs_.push_back({predecessor, 0});
    for (int tensor : graph.reads(op)) {
      const int producer = graph.tensor(tensor).producer;
      if (producer < 0) continue;
      const auto row = std::lower_bound(inputs_.begin() + static_cast<std::ptrdiff_t>(begin),
                                        inputs_.end(),
                                        producer,
                                        [](const OpInput& input, int id) { return input.op < id; });
      row->bytes += graph.tensor(tensor).bytes;
    }
    offsets_.push_back(static_cast<int>(inputs_.size()));
  }
}

MeanCommunication ComputeMeanCommunication(const Cluster& cluster, std::uint64_t devices) {
  MeanCommunication mean;
  int pairs = 0;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from == to || !(devices >> from & 1) || !(devices >> to & 1)) continue;
      if (cluster.route(from, to).empty()) continue;
      ++pairs;
      for (int k : cluster.route(from, to)) {
        const Channel& channel = cluster.channel(k);
        mean.fixed += static_cast<double>(channel.latency + channel.setup);
        mean.per_byte += 1e9 / channel.bandwidth.BytesPerSecond();
      }
    }
  }
  if (pairs > 0) {
    mean.fixed /= pairs;
    mean.per_byte /= pairs;
  }
  return mean;
}

std::vector<double> MeanOpCosts(const Problem& problem, std::uint64_t preferred) {
  std::vector<double> mean(problem.num_ops());
  for (int op = 0; op < problem.num_ops(); ++op) {
    double sum = 0;
    int count = 0;
    for (std::uint64_t m = Candidates(problem, problem.grouping().group_of(op), preferred); m != 0;
         m &= m - 1, ++count) {
      sum += static_cast<double>(problem.costs().at(op, FirstDevice(m)));
    }
    mean[op] = sum / count;
  }
  return mean;
}

std::vector<double> UpwardRanks(const Problem& problem,
                                const OpInputs& inputs,
                                const std::vector<double>& cost,
                                const MeanCommunication& communication) {
  const auto order = problem.graph().topological_order();
  std::vector<double> rank(problem.num_ops(), 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const int op = *it, group = problem.grouping().group_of(op);
    rank[op] += cost[op];
    for (const OpInput& input : inputs[op]) {
      const bool together = problem.grouping().group_of(input.op) == group;
      const double c = together ? 0 : communication(input.bytes);
      rank[input.op] = std::max(rank[input.op], c + rank[op]);
    }
  }
  return rank;
}

std::vector<double> DownwardRanks(const Problem& problem,
                                  const OpInputs& inputs,
                                  const std::vector<double>& cost,
                                  const MeanCommunication& communication) {
  std::vector<double> rank(problem.num_ops(), 0);
  for (int op : problem.graph().topological_order()) {
    const int group = problem.grouping().group_of(op);
    for (const OpInput& input : inputs[op]) {
      const bool together = problem.grouping().group_of(input.op) == group;
      const double c = together ? 0 : communication(input.bytes);
      rank[op] = std::max(rank[op], rank[input.op] + cost[input.op] + c);
    }
  }
  return rank;
}

std::vector<int> OrderByRank(const Graph& graph, const std::vector<double>& rank) {
  std::vector<double> rounded(rank.size());
  for (std::size_t i = 0; i < rank.size(); ++i) rounded[i] = std::round(rank[i] * 1000);
  std::vector<int> order(graph.topological_order().begin(), graph.topological_order().end());
  std::stable_sort(
      order.begin(), order.end(), [&](int a, int b) { return rounded[a] > rounded[b]; });
  return order;
}

ListSchedule::ListSchedule(const Problem& problem, const OpInputs& inputs, std::uint64_t preferred)
    : problem_(problem),
      inputs_(inputs),
      preferred_(preferred),
      free_source_(problem.num_ops()),
      device_(problem.num_groups(), -1),
      start_(problem.num_ops(), -1),
      finish_(problem.num_ops(), -1) {
  for (const Device& device : problem.cluster().devices()) idle_.emplace_back(device.slots);
  for (int op = 0; op < problem.num_ops(); ++op) {
    bool free = inputs[op].empty();
    for (int d = 0; d < problem.num_devices() && free; ++d) {
      free = !problem.costs().allowed(op, d) || problem.costs().at(op, d) == 0;
    }
    free_source_[op] = free;
  }
}

std::uint64_t ListSchedule::CandidatesOf(int op) const {
  const int group = problem_.grouping().group_of(op);
  if (device_[group] >= 0) return std::uint64_t{1} << device_[group];
  return Candidates(problem_, group, preferred_);
}

Nanos ListSchedule::Arrival(const OpInput& input, int device) const {
  const int group = problem_.grouping().group_of(input.op);
  const Cluster& cluster = problem_.cluster();
  const Nanos finish = free_source_[input.op] ? 0 : finish_[input.op];
  if (device_[group] >= 0)
    return finish + cluster.TransferTime(device_[group], device, input.bytes);
  EMPLACE_DCHECK(free_source_[input.op], "inputs are scheduled before their readers");
  Nanos least = kMaxNanos;
  for (std::uint64_t m = Candidates(problem_, group, preferred_); m != 0; m &= m - 1) {
    least = std::min(least, cluster.TransferTime(FirstDevice(m), device, input.bytes));
  }
  return least;
}

Nanos ListSchedule::DataReady(int op, int device) const {
  Nanos ready = 0;
  for (const OpInput& input : inputs_[op]) ready = std::max(ready, Arrival(input, device));
  return ready;
}

Nanos ListSchedule::EarliestStart(int op, int device, Nanos ready, bool insertion) const {
  const Nanos cost = problem_.costs().at(op, device);
  if (!insertion) return std::max(ready, Available(device));
  if (cost == 0) return ready;
  Nanos earliest = std::numeric_limits<Nanos>::max();
  for (const IdleTimes& slot : idle_[device]) {
    earliest = std::min(earliest, slot.EarliestStart(ready, cost));
  }
  return earliest;
}

Nanos ListSchedule::Available(int device) const {
  Nanos earliest = std::numeric_limits<Nanos>::max();
  for (const IdleTimes& slot : idle_[device]) earliest = std::min(earliest, slot.end());
  return earliest;
}

void ListSchedule::FixGroup(int group, int device) {
  EMPLACE_CHECK(device_[group] == -1 || device_[group] == device);
  EMPLACE_CHECK(problem_.allowed(group, device));
  device_[group] = device;
}

void ListSchedule::Place(int op, int device, Nanos start) {
  const Nanos cost = problem_.costs().at(op, device);
  FixGroup(problem_.grouping().group_of(op), device);
  if (cost > 0) {
    const auto slot =
        std::find_if(idle_[device].begin(), idle_[device].end(), [&](const IdleTimes& s) {
          return s.EarliestStart(start, cost) == start;
        });
    EMPLACE_CHECK(slot != idle_[device].end(), "no slot is idle then");
    slot->Take(start, cost);
  }
  start_[op] = start;
  finish_[op] = start + cost;
  makespan_ = std::max(makespan_, finish_[op]);
  for (const OpInput& input : inputs_[op]) {
    const int group = problem_.grouping().group_of(input.op);
    if (device_[group] >= 0) continue;
    int nearest = -1;
    Nanos least = kMaxNanos;
    for (std::uint64_t m = Candidates(problem_, group, preferred_); m != 0; m &= m - 1) {
      const int d = FirstDevice(m);
      const Nanos time = problem_.cluster().TransferTime(d, device, input.bytes);
      if (nearest == -1 || time < least || (time == least && d == device)) {
        nearest = d;
        least = time;
      }
    }
    FixGroup(group, nearest);
  }
}

void ListSchedule::PlaceEarliestFinish(int op, std::span<const Nanos> further) {
  const int group = problem_.grouping().group_of(op);
  const bool first = device_[group] < 0;
  int best = -1;
  Nanos best_start = 0, best_key = 0;
  for (std::uint64_t m = CandidatesOf(op); m != 0; m &= m - 1) {
    const int d = FirstDevice(m);
    const Nanos start = EarliestStart(op, d, DataReady(op, d), true);
    Nanos key = start + (first ? problem_.group_cost(group, d) : problem_.costs().at(op, d));
    if (!further.empty()) key += further[std::size_t(op) * problem_.num_devices() + d];
    if (best >= 0 && key >= best_key) continue;
    best = d;
    best_start = start;
    best_key = key;
  }
  Place(op, best, best_start);
}

Placement ListSchedule::ToPlacement() const {
  Placement placement;
  for (int group = 0; group < problem_.num_groups(); ++group) {
    const int device =
        device_[group] >= 0 ? device_[group] : FirstDevice(Candidates(problem_, group, preferred_));
    placement.device.push_back(static_cast<DeviceIndex>(device));
  }
  return placement;
}

void ScheduleReadyOps(const Problem& problem,
                      const OpInputs& inputs,
                      const std::vector<double>& priority,
                      const ListSchedule& schedule,
                      const Interrupt& interrupt,
                      const std::function<void(int op)>& place) {
  const Graph& graph = problem.graph();
  std::vector<int> position(problem.num_ops()), waiting(problem.num_ops(), 0);
  const std::vector<int> order = OrderByRank(graph, priority);
  for (int i = 0; i < problem.num_ops(); ++i) position[order[i]] = i;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // positions
  for (int op = 0; op < problem.num_ops(); ++op) {
    if (schedule.IsFreeSource(op)) continue;
    for (const OpInput& input : inputs[op]) waiting[op] += !schedule.IsFreeSource(input.op);
    if (waiting[op] == 0) ready.push(position[op]);
  }
  while (!ready.empty()) {
    interrupt.Check();
    const int op = order[ready.top()];
    ready.pop();
    place(op);
    for (int next : graph.successors(op)) {
      if (--waiting[next] == 0) ready.push(position[next]);
    }
  }
}

}  // namespace emplace
