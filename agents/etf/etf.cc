#include "agents/etf/etf.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "agents/shared/devices.h"
#include "agents/shared/list_schedule.h"
#include "framework/base/error.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

/// Returns the bytes that each group occupies permanently. @return [num_groups] [B]
std::vector<std::int64_t> GroupBytes(const Problem& problem, bool count_outputs) {
  const Graph& graph = problem.graph();
  std::vector<std::int64_t> bytes(problem.num_groups(), 0), workspace(problem.num_groups(), 0);
  for (int op = 0; op < problem.num_ops(); ++op) {
    const int group = problem.grouping().group_of(op);
    for (int id : graph.op(op).outputs) {
      const Tensor& tensor = graph.tensor(id);
      if (tensor.alias_of >= 0 || !(count_outputs || IsResident(tensor))) continue;
      bytes[group] += tensor.bytes;
    }
    workspace[group] = std::max(workspace[group], graph.op(op).workspace_bytes);
  }
  for (int group = 0; group < problem.num_groups(); ++group) {
    if (count_outputs) bytes[group] += workspace[group];
  }
  return bytes;
}

class EtfScheduler {
 public:
  EtfScheduler(const Problem& problem,
               std::uint64_t devices,
               bool memory_aware,
               bool count_outputs,
               std::vector<int> favorite_child)
      : problem_(problem),
        devices_(devices),
        favorite_child_(std::move(favorite_child)),
        memory_aware_(memory_aware),
        inputs_(problem.graph()),
        schedule_(problem, inputs_, devices),
        position_(problem.num_ops()),
        waiting_for_(problem.num_ops(), 0),
        entries_(problem.num_ops(), 0),
        forced_(problem.num_ops(), -1),
        version_(problem.num_ops(), 0),
        is_ready_(problem.num_ops(), false),
        fixed_(problem.num_groups(), false),
        queues_(problem.num_devices()),
        last_op_(problem.num_devices(), -1) {
    const std::vector<double> level =
        UpwardRanks(problem, inputs_, MeanOpCosts(problem, devices), MeanCommunication{});
    order_ = OrderByRank(problem.graph(), level);
    for (int i = 0; i < problem.num_ops(); ++i) position_[order_[i]] = i;
    for (const Device& device : problem.cluster().devices()) free_bytes_.push_back(device.memory);
    if (memory_aware) group_bytes_ = GroupBytes(problem, count_outputs);
  }

  const ListSchedule& Run(const Interrupt& interrupt) {
    int left = 0;
    for (int op : order_) {
      if (schedule_.IsFreeSource(op)) continue;
      ++left;
      for (const OpInput& input : inputs_[op]) {
        waiting_for_[op] += !schedule_.IsFreeSource(input.op);
      }
      if (waiting_for_[op] == 0) MakeReady(op);
    }
    for (; left > 0; --left) {
      interrupt.Check();
      std::optional<std::tuple<Nanos, int, int>> best;  // start, position, device
      for (int d = 0; d < problem_.num_devices(); ++d) {
        std::optional<std::pair<Nanos, int>> first = FirstBeforeFavorite(d);
        if (!first) first = FirstOn(d);
        if (!first) continue;
        const std::tuple<Nanos, int, int> key{first->first, first->second, d};
        if (!best || key < *best) best = key;
      }
      // Empty only if the last op was dropped everywhere and forced into a queue already visited.
      if (!best) best = FirstForced();
      const auto [start, position, device] = *best;
      Schedule(order_[position], device, start);
    }
    return schedule_;
  }

 private:
  /// A snapshot of a ready op on a device at the time when it entered a queue.
  struct Entry {
    Nanos ready = 0;             // arrival of the inputs
    std::int64_t new_bytes = 0;  // NewBytes(), if memory-aware
    int position = 0;
    int version = 0;  // version_ of the op at that time
  };
  struct LaterReady {
    bool operator()(const Entry& a, const Entry& b) const {
      return std::tie(a.ready, a.position) > std::tie(b.ready, b.position);
    }
  };
  struct LaterPosition {
    bool operator()(const Entry& a, const Entry& b) const { return a.position > b.position; }
  };
  struct Queues {
    // Ops whose inputs arrive after the device is available, and ops that could start at once.
    std::priority_queue<Entry, std::vector<Entry>, LaterReady> later;
    std::priority_queue<Entry, std::vector<Entry>, LaterPosition> at_once;
  };

  void MakeReady(int op) {
    is_ready_[op] = true;
    if (!favorite_child_.empty()) ready_.push_back(op);
    for (std::uint64_t m = schedule_.CandidatesOf(op); m != 0; m &= m - 1) Push(op, FirstDevice(m));
  }

  void Push(int op, int device) {
    ++entries_[op];
    queues_[device].later.push(MakeEntry(op, device));
  }

  Entry MakeEntry(int op, int device) const {
    return {.ready = schedule_.DataReady(op, device),
            .new_bytes = memory_aware_ ? NewBytes(op, device) : 0,
            .position = position_[op],
            .version = version_[op]};
  }

  int OpOf(const Entry& entry) const { return order_[entry.position]; }
  bool IsCurrent(const Entry& entry) const { return entry.version == version_[OpOf(entry)]; }

  /// Returns the bytes that placing `op` on `device` occupies there: those of its group and of the
  /// parameters that are placed with it.
  std::int64_t NewBytes(int op, int device) const {
    std::vector<int> groups{problem_.grouping().group_of(op)};
    for (const OpInput& input : inputs_[op]) {
      const int group = problem_.grouping().group_of(input.op);
      if (!fixed_[group] && problem_.allowed(group, device)) groups.push_back(group);
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    std::int64_t bytes = 0;
    for (int group : groups) bytes += group_bytes_[group];
    return bytes;
  }

  /// Returns whether the op of a current entry may still run on the device.
  bool IsValid(const Entry& entry, int device) const {
    const int op = OpOf(entry);
    if (schedule_.IsScheduled(op) || !(schedule_.CandidatesOf(op) >> device & 1)) return false;
    if (!memory_aware_ || fixed_[problem_.grouping().group_of(op)]) return true;
    return forced_[op] == device || entry.new_bytes <= free_bytes_[device];
  }

  /// Handles the removal of an entry of `op` from a queue, for lack of memory or because its group
  /// is elsewhere.
  void Dropped(int op) {
    if (--entries_[op] > 0 || schedule_.IsScheduled(op)) return;
    int most = -1;
    for (std::uint64_t m = schedule_.CandidatesOf(op); m != 0; m &= m - 1) {
      const int d = FirstDevice(m);
      if (most < 0 || free_bytes_[d] > free_bytes_[most]) most = d;
    }
    forced_[op] = most;
    Push(op, most);
  }

  std::tuple<Nanos, int, int> FirstForced() {
    for (int d = 0; d < problem_.num_devices(); ++d) {
      if (const auto first = FirstOn(d)) return {first->first, first->second, d};
    }
    EMPLACE_CHECK(false, "no op is ready although some are left");
    return {};
  }

  /// Returns the earliest (start, position) on a device; removes invalid entries.
  std::optional<std::pair<Nanos, int>> FirstOn(int device) {
    auto& [later, at_once] = queues_[device];
    const Nanos available = schedule_.Available(device);
    // Sorts the first entries again, until one is valid and belongs on top of its queue.
    const auto settle = [&](auto& queue, const auto& belongs) {
      while (!queue.empty()) {
        const bool current = IsCurrent(queue.top());
        const Entry entry = current ? queue.top() : MakeEntry(OpOf(queue.top()), device);
        const bool valid = IsValid(entry, device);
        if (current && valid && belongs(entry)) break;
        queue.pop();
        if (!valid) {
          Dropped(OpOf(entry));
        } else if (entry.ready <= available) {
          at_once.push(entry);
        } else {
          later.push(entry);
        }
      }
    };
    settle(later, [&](const Entry& entry) { return entry.ready > available; });
    settle(at_once, [](const Entry&) { return true; });
    if (!at_once.empty()) return std::pair{available, at_once.top().position};
    if (later.empty()) return std::nullopt;
    const Entry& entry = later.top();
    return std::pair{std::max(available, entry.ready), entry.position};
  }

  Nanos StartOn(int op, int device) const {
    return std::max(schedule_.Available(device), schedule_.DataReady(op, device));
  }

  /// Returns (start, position) of the next op of a device that waits for the favourite child of its
  /// last op; nullopt if it does not wait.
  std::optional<std::pair<Nanos, int>> FirstBeforeFavorite(int device) {
    const int last = last_op_[device];
    const int child = last < 0 || favorite_child_.empty() ? -1 : favorite_child_[last];
    if (child < 0 || !is_ready_[child] || !IsValid(MakeEntry(child, device), device)) return {};
    const std::pair of_child{StartOn(child, device), position_[child]};
    for (std::uint64_t m = schedule_.CandidatesOf(child); m != 0; m &= m - 1) {
      if (StartOn(child, FirstDevice(m)) < of_child.first) return {};
    }
    std::erase_if(ready_, [this](int op) { return schedule_.IsScheduled(op); });
    std::optional<std::pair<Nanos, int>> urgent;
    for (int op : ready_) {
      Nanos start = schedule_.Available(device);
      for (std::uint64_t m = devices_ | std::uint64_t{1} << device; m != 0; m &= m - 1) {
        start = std::max(start, schedule_.DataReady(op, FirstDevice(m)));
      }
      const std::pair key{start, position_[op]};
      if (start > of_child.first || (urgent && *urgent < key)) continue;
      if (IsValid(MakeEntry(op, device), device)) urgent = key;
    }
    return urgent ? urgent : of_child;
  }

  void Schedule(int op, int device, Nanos start) {
    schedule_.Place(op, device, start);
    last_op_[device] = op;
    NoteFixed(problem_.grouping().group_of(op));
    for (const OpInput& input : inputs_[op]) NoteFixed(problem_.grouping().group_of(input.op));
    for (int next : problem_.graph().successors(op)) {
      if (--waiting_for_[next] == 0) MakeReady(next);
    }
  }

  /// Charges the memory of a group that was just assigned to a device, and queues its ready ops
  /// there. Its free sources no longer add bytes to their readers, nor a choice of device.
  void NoteFixed(int group) {
    if (fixed_[group]) return;
    fixed_[group] = true;
    const int device = schedule_.device_of(group);
    if (memory_aware_) free_bytes_[device] -= group_bytes_[group];
    for (int op : problem_.grouping().members(group)) {
      if (schedule_.IsFreeSource(op)) {
        for (int reader : problem_.graph().successors(op)) ++version_[reader];
      }
      if (is_ready_[op] && !schedule_.IsScheduled(op)) Push(op, device);
    }
  }

  const Problem& problem_;
  std::uint64_t devices_;
  std::vector<int> favorite_child_;  // [num_ops] or empty
  bool memory_aware_;
  OpInputs inputs_;
  ListSchedule schedule_;
  std::vector<int> order_, position_;      // ops by static level, and the inverse
  std::vector<int> waiting_for_;           // [num_ops] predecessors not yet scheduled
  std::vector<int> entries_;               // [num_ops] entries in queues
  std::vector<int> forced_;                // [num_ops] device that takes the op without room, or -1
  std::vector<int> version_;               // [num_ops] grows when MakeEntry() may change
  std::vector<bool> is_ready_, fixed_;     // [num_ops], [num_groups]
  std::vector<Queues> queues_;             // [num_devices]
  std::vector<int> last_op_;               // [num_devices] op scheduled last, or -1
  std::vector<int> ready_;                 // with favourite children: ready ops not yet scheduled
  std::vector<std::int64_t> free_bytes_;   // [num_devices] [B]
  std::vector<std::int64_t> group_bytes_;  // [num_groups] [B]
};

}  // namespace

EtfSchedule ComputeEtf(const Problem& problem,
                       std::uint64_t devices,
                       bool memory_aware,
                       bool count_outputs,
                       const Interrupt& interrupt,
                       std::vector<int> favorite_child) {
  EtfScheduler scheduler(problem, devices, memory_aware, count_outputs, std::move(favorite_child));
  const ListSchedule& schedule = scheduler.Run(interrupt);
  return {schedule.ToPlacement(), schedule.start(), schedule.finish(), schedule.makespan()};
}

EtfAgent::EtfAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent(config.memory_aware ? "m_etf" : "etf", context),
      devices_(MaskOf(SelectDevices(context.problem->cluster(), "devices", config.devices))),
      config_(config) {
}

std::vector<Placement> EtfAgent::Construct() const {
  return {ComputeEtf(problem(), devices_, config_.memory_aware, config_.count_outputs, interrupt())
              .placement};
}

}  // namespace emplace
