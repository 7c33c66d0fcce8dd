#include "framework/search/compiled_period.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

namespace emplace {
namespace {

// Sets the column of each pair of devices in the table of transfer times. Pairs between which every
// transfer takes the same time share a column. Returns one pair of devices per column.
std::vector<std::pair<int, int>> ComparePaths(const Cluster& cluster, std::vector<int>& path) {
  using Hops = std::vector<std::tuple<std::int64_t, std::int64_t, Nanos>>;  // any order
  std::map<std::pair<Nanos, Hops>, int> known;
  std::vector<std::pair<int, int>> examples;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      Nanos latency = 0;
      Hops hops;
      for (const int k : from != to ? cluster.route(from, to) : std::span<const int>{}) {
        const Channel& channel = cluster.channel(k);
        latency = std::min(latency + channel.latency, kMaxNanos);
        hops.emplace_back(channel.bandwidth.bytes, channel.bandwidth.per_seconds, channel.setup);
      }
      std::sort(hops.begin(), hops.end());
      const auto [entry, added] = known.try_emplace({latency, hops}, std::ssize(examples));
      if (added) examples.emplace_back(from, to);
      path.push_back(entry->second);
    }
  }
  return examples;
}

}  // namespace

CompiledPeriod::CompiledPeriod(const Problem& compiled)
    : problem(compiled), num_groups(problem.num_groups()), num_devices(problem.num_devices()) {
  const Graph& graph = problem.graph();
  const Grouping& grouping = problem.grouping();
  const Cluster& cluster = problem.cluster();
  const std::vector<std::pair<int, int>> examples = ComparePaths(cluster, path);
  num_paths = static_cast<int>(examples.size());
  for (int d = 0; d < num_devices; ++d) {
    pays.push_back(cluster.kind_of(d).pays_transfers ? ~Nanos{0} : 0);
    memory.push_back(cluster.device(d).memory);
  }

  std::map<std::int64_t, std::size_t> row_of_size;
  std::vector<std::vector<int>> read(num_groups);
  reader_begin.push_back(0);
  // Returns false, and leaves out the item, if no group but `own` reads it.
  const auto add_readers = [&](std::span<const int> ops, int own) {
    const std::size_t begin = readers.size();
    for (const int v : ops) {
      if (grouping.group_of(v) != own) readers.push_back(grouping.group_of(v));
    }
    const auto first = readers.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, readers.end());
    readers.erase(std::unique(first, readers.end()), readers.end());
    if (readers.size() == begin) return false;
    const int item = static_cast<int>(reader_begin.size()) - 1;
    for (std::size_t r = begin; r < readers.size(); ++r) read[readers[r]].push_back(item);
    reader_begin.push_back(static_cast<int>(readers.size()));
    return true;
  };
  const auto add_item = [&](std::span<const int> ops, int group, std::int64_t size) {
    if (!add_readers(ops, group)) return;
    maker.push_back(group);
    const auto [row, added] = row_of_size.try_emplace(size, transfer_time.size());
    times.push_back(row->second);
    if (!added) return;
    for (const auto& [from, to] : examples) {
      transfer_time.push_back(cluster.TransferTime(from, to, size));
    }
  };
  for (int group = 0; group < num_groups; ++group) {
    made_begin.push_back(static_cast<int>(maker.size()));
    bytes.push_back(0);
    for (const int v : grouping.members(group)) {
      for (const int t : graph.op(v).outputs) {
        if (graph.tensor(t).alias_of < 0) bytes[group] += graph.tensor(t).bytes;
        add_item(graph.readers(t), group, graph.tensor(t).bytes);
      }
      add_item(graph.control_readers(v), group, 0);
    }
  }
  num_items = static_cast<int>(maker.size());
  made_begin.push_back(num_items);
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.producer >= 0 || tensor.alias_of >= 0) continue;
    if (add_readers(graph.readers(t), -1)) input_bytes.push_back(tensor.bytes);
  }
  num_inputs = static_cast<int>(input_bytes.size());
  for (const std::vector<int>& items : read) {
    read_begin.push_back(static_cast<int>(reads.size()));
    reads.insert(reads.end(), items.begin(), items.end());
  }
  read_begin.push_back(static_cast<int>(reads.size()));
  total_degree = num_items + std::ssize(reads);
}

std::shared_ptr<const Problem> MergeGroups(const Problem& problem, std::span<const int> label) {
  std::vector<int> label_of_op;
  for (const int group : problem.grouping().group_of_op()) label_of_op.push_back(label[group]);
  const auto refer_to = []<class T>(const T& object) {  // without owning it
    return std::shared_ptr<const T>(std::shared_ptr<const T>(), &object);
  };
  return std::make_shared<Problem>(refer_to(problem.graph()),
                                   Grouping(label_of_op),
                                   refer_to(problem.cluster()),
                                   problem.costs(),
                                   problem.objective(),
                                   ProblemChecks::kPlacementOnly);
}

Nanos PeriodTotals::period() const {
  return *std::max_element(load.begin(), load.end());
}

PeriodState::PeriodState(const CompiledPeriod& problem)
    : p_(problem), is_touched_(problem.num_items + problem.num_inputs) {
}

template <int kSign>
void PeriodState::AddGroup(int group, int device, PeriodTotals& totals) const {
  const Nanos cost = kSign * p_.problem.group_cost(group, device);
  totals.load[device] += cost;
  totals.busy[device] += cost;
  totals.bytes[device] += kSign * p_.bytes[group];
}

template <int kSign>
void PeriodState::AddItem(int item, int source, std::uint64_t readers, PeriodTotals& totals) const {
  readers &= ~(std::uint64_t{1} << source);
  if (readers == 0) return;
  const Nanos* const times = p_.transfer_time.data() + p_.times[item];
  const int* const path = p_.path.data() + source * p_.num_devices;
  Nanos dearest = 0;
  for (; readers != 0; readers &= readers - 1) {
    const int d = std::countr_zero(readers);
    const Nanos time = times[path[d]];
    dearest = std::max(dearest, time);
    totals.load[d] += kSign * (time & p_.pays[d]);
  }
  totals.load[source] += kSign * (dearest & p_.pays[source]);
}

template <int kSign>
void PeriodState::AddInput(int item, std::uint64_t readers, PeriodTotals& totals) const {
  const std::int64_t bytes = kSign * p_.input_bytes[item - p_.num_items];
  for (; readers != 0; readers &= readers - 1) totals.bytes[std::countr_zero(readers)] += bytes;
}

template <int kSign>
void PeriodState::AddKept(int item, PeriodTotals& totals) const {
  if (item < p_.num_items) {
    AddItem<kSign>(item, device_[p_.maker[item]], readers_[item], totals);
  } else {
    AddInput<kSign>(item, readers_[item], totals);
  }
}

void PeriodState::SumUp(const DeviceIndex* device, PeriodTotals& totals) const {
  totals.load.assign(p_.num_devices, 0);
  totals.busy.assign(p_.num_devices, 0);
  totals.bytes.assign(p_.num_devices, 0);
  for (int group = 0; group < p_.num_groups; ++group) AddGroup<1>(group, device[group], totals);
  const auto readers_of = [&](int item) {
    std::uint64_t readers = 0;
    for (const int group : p_.readers_of(item)) readers |= std::uint64_t{1} << device[group];
    return readers;
  };
  for (int item = 0; item < p_.num_items; ++item) {
    AddItem<1>(item, device[p_.maker[item]], readers_of(item), totals);
  }
  for (int item = p_.num_items; item < p_.num_items + p_.num_inputs; ++item) {
    AddInput<1>(item, readers_of(item), totals);
  }
}

void PeriodState::Recount(int group, int from, int to) {
  for (const int item : p_.read_by(group)) {
    std::int32_t* const count = count_.data() + static_cast<std::size_t>(item) * p_.num_devices;
    if (--count[from] == 0) readers_[item] &= ~(std::uint64_t{1} << from);
    ++count[to];
    readers_[item] |= std::uint64_t{1} << to;
  }
}

// Moves a group. Subtracts its items from the totals; AddTouched() adds them again.
void PeriodState::Change(int group, DeviceIndex device, PeriodTotals& totals) {
  const DeviceIndex from = device_[group];
  const auto touch = [&](int item) {
    if (is_touched_[item]) return;
    is_touched_[item] = true;
    touched_.push_back(item);
    AddKept<-1>(item, totals);
  };
  for (int item = p_.made_begin[group]; item < p_.made_begin[group + 1]; ++item) touch(item);
  for (const int item : p_.read_by(group)) touch(item);
  AddGroup<-1>(group, from, totals);
  AddGroup<1>(group, device, totals);
  device_[group] = device;
  Recount(group, from, device);
}

void PeriodState::AddTouched(PeriodTotals& totals) {
  for (const int item : touched_) {
    AddKept<1>(item, totals);
    is_touched_[item] = false;
  }
  touched_.clear();
}

void PeriodState::SetTo(const std::vector<DeviceIndex>& device) {
  const int num_all = p_.num_items + p_.num_inputs;
  if (!device_.empty()) {
    if (device_ == device) return;
    std::int64_t degree = 0;
    for (int group = 0; group < p_.num_groups; ++group) {
      if (device_[group] != device[group]) degree += p_.degree(group);
    }
    if (2 * degree < p_.total_degree) {
      for (int group = 0; group < p_.num_groups; ++group) {
        if (device_[group] != device[group]) Change(group, device[group], totals_);
      }
      AddTouched(totals_);
      return;
    }
  }
  device_ = device;
  SumUp(device_.data(), totals_);
  readers_.assign(num_all, 0);
  count_.assign(static_cast<std::size_t>(num_all) * p_.num_devices, 0);
  for (int item = 0; item < num_all; ++item) {
    for (const int group : p_.readers_of(item)) {
      ++count_[static_cast<std::size_t>(item) * p_.num_devices + device_[group]];
      readers_[item] |= std::uint64_t{1} << device_[group];
    }
  }
}

const PeriodTotals& PeriodState::Try(std::span<const Move> moves) {
  trial_ = totals_;
  for (const Move& move : moves) {
    if (device_[move.group] == move.device) continue;
    undo_.push_back({move.group, device_[move.group]});
    Change(move.group, move.device, trial_);
  }
  AddTouched(trial_);
  return trial_;
}

void PeriodState::Keep() {
  std::swap(totals_, trial_);
  undo_.clear();
}

void PeriodState::Undo() {
  for (; !undo_.empty(); undo_.pop_back()) {
    const auto [group, device] = undo_.back();
    Recount(group, device_[group], device);
    device_[group] = device;
  }
}

}  // namespace emplace
