// Interference semantics, as README.md defines it: commands in the order of stream semantics, and
// time that advances from event to event.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "framework/schedule/issue_order.h"
#include "simulator/reference/reference_internal.h"

namespace emplace::reference {
namespace {

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

__extension__ using Work = unsigned __int128;  // in 1/1024 ns

// An op, or one hop of a copy.
struct InterferingCommand {
  int op = 0;  // or the producer of the copied item
  std::optional<TransferEvent> hop;
  Nanos issued = 0;         // 0 for later hops
  std::vector<int> awaits;  // commands: ops whose finish, or hops whose arrival, it awaits
  Nanos alone = 0;          // cost, or wire time
  Nanos latency = 0;
  int home = -1;  // device that it belongs to as an activity; -1: no interference
  Interference figures;

  std::vector<int> slot_devices;  // devices on which it needs a slot
  std::vector<int> slots;         // the slot on each, -1: not yet taken
  bool holds_channel = false;
  bool has_started = false, has_finished = false;
  Nanos ready = 0, start = 0, finish = 0;
  Work left = 0;
  Work rate = 0;
  Nanos Arrival() const { return finish + latency; }
};

class InterferenceStep {
 public:
  InterferenceStep(const Problem& problem,
                   std::span<const DeviceIndex> device_of_op,
                   const SimulatorOptions& options)
      : problem_(problem),
        cluster_(problem.cluster()),
        place_(device_of_op),
        options_(options),
        servers_(problem.cluster(), options.channel_contention) {}

  Timeline Simulate() {
    ListCommands();
    for (const Device& device : cluster_.devices()) is_taken_.emplace_back(device.slots, false);
    channel_is_taken_.assign(cluster_.num_channels(), false);
    while (now_ < kNever) {
      for (InterferingCommand& c : commands_) {
        if (c.has_started && !c.has_finished && c.finish == now_) Finish(c);
      }
      for (size_t i = 0; i < commands_.size(); ++i) StartIfPossible(i);
      SetRates();
      now_ = NextTime();
    }
    return Events();
  }

 private:
  void ListCommands() {
    const Graph& graph = problem_.graph();
    std::map<std::tuple<int, int, int>, int> makes;  // (producer, tensor, device) -> command
    const std::vector<int> order =
        options_.issue_order.empty() ? IssueOrder(graph) : options_.issue_order;
    for (const int v : order) {
      const int d = place_[v];
      InterferingCommand op{.op = v, .issued = servers_.Issue(d, 0)};
      for (const int t : graph.reads(v)) {
        const int producer = graph.tensor(t).producer;
        if (producer >= 0) op.awaits.push_back(makes.at({producer, t, d}));
      }
      for (const int u : graph.op(v).control_inputs) {
        op.awaits.push_back(makes.at({u, kControlTensor, d}));
      }
      op.alone = CostWithColdReads(problem_, place_, v);
      op.home = d;
      op.figures = problem_.costs().interference_at(v, d);
      op.slot_devices = {d};
      op.slots = {-1};
      const int number = static_cast<int>(commands_.size());
      commands_.push_back(op);
      for (const int t : graph.op(v).outputs) makes[{v, t, d}] = number;
      makes[{v, kControlTensor, d}] = number;

      const std::vector<Copy> copies = CopiesOf(graph, cluster_, place_, v);
      std::map<std::pair<int, int>, const Copy*> turns;  // (tensor, destination)
      for (const Copy& copy : copies) {
        for (const int destination : copy.destinations) turns[{copy.tensor, destination}] = &copy;
      }
      std::map<const Copy*, int> first_hop;
      for (const auto& [turn, copy] : turns) {
        const int destination = turn.second;
        if (!first_hop.contains(copy)) {
          first_hop[copy] = AddHop(*copy, 0, copy->destinations, number, servers_.Issue(d, 0));
        }
        int last = first_hop[copy];
        const int hops = static_cast<int>(cluster_.route(d, destination).size());
        for (int hop = 1; hop < hops; ++hop) last = AddHop(*copy, hop, {destination}, last, 0);
        makes[{v, copy->tensor, destination}] = last;
      }
    }
  }

  // Adds a command for a hop. @return its number
  int AddHop(const Copy& copy, int hop, std::vector<int> destinations, int awaits, Nanos issued) {
    const int k = cluster_.route(copy.source, destinations[0])[hop];
    const Channel& channel = cluster_.channel(k);
    InterferingCommand command{.op = copy.producer, .issued = issued, .awaits = {awaits}};
    command.alone = WireTime(copy.bytes, channel);
    command.latency = channel.latency;
    if (OccupiesSource(channel.occupies)) command.slot_devices.push_back(copy.source);
    if (OccupiesDestination(channel.occupies)) command.slot_devices.push_back(destinations[0]);
    command.slots.assign(command.slot_devices.size(), -1);
    if (!command.slot_devices.empty()) {
      command.home = command.slot_devices[0];
      const auto& classes = cluster_.kind_of(command.home).interference;
      const auto found = classes.find(kTransferClass);
      if (found != classes.end()) command.figures = found->second;
    }
    command.hop = TransferEvent{.producer = copy.producer,
                                .tensor = copy.tensor,
                                .channel = k,
                                .hop = hop,
                                .source = copy.source,
                                .destinations = std::move(destinations),
                                .bytes = copy.bytes};
    commands_.push_back(std::move(command));
    return static_cast<int>(commands_.size()) - 1;
  }

  void StartIfPossible(size_t number) {
    InterferingCommand& c = commands_[number];
    if (c.has_started) return;
    TakeSlots(number);
    TakeChannel(number);
    c.ready = c.issued;
    for (const int before : c.awaits) {
      if (!commands_[before].has_finished) return;
      c.ready = std::max(c.ready, commands_[before].Arrival());
    }
    const bool lacks_channel = c.hop && options_.channel_contention && !c.holds_channel;
    const bool lacks_slot = std::ranges::count(c.slots, -1) > 0;
    if (lacks_slot || lacks_channel || c.ready > now_) return;
    c.has_started = true;
    c.start = c.finish = now_;
    c.left = Work(c.alone) * kInterferenceOne;
    if (c.alone == 0) {
      Finish(c);
    } else if (c.home < 0) {
      c.finish = now_ + c.alone;
    }
  }

  void TakeSlots(size_t number) {
    InterferingCommand& c = commands_[number];
    for (size_t i = 0; i < c.slots.size(); ++i) {
      if (c.slots[i] < 0 && !IsAwaitedBefore(number, c.slot_devices[i])) {
        c.slots[i] = TakeSlotOf(c.slot_devices[i]);
      }
    }
  }

  // Returns whether an earlier command still needs a slot of a device.
  bool IsAwaitedBefore(size_t number, int device) const {
    for (size_t before = 0; before < number; ++before) {
      const InterferingCommand& other = commands_[before];
      for (size_t i = 0; i < other.slots.size(); ++i) {
        if (other.slot_devices[i] == device && other.slots[i] < 0) return true;
      }
    }
    return false;
  }

  // Takes a free slot of a device. @return -1 if none is free
  int TakeSlotOf(int device) {
    const std::vector<Nanos>& free = servers_.slot_free[device];
    int best = -1;
    for (int slot = 0; slot < static_cast<int>(free.size()); ++slot) {
      if (is_taken_[device][slot] || free[slot] > now_) continue;
      if (best < 0 || free[slot] < free[best]) best = slot;
    }
    if (best >= 0) is_taken_[device][best] = true;
    return best;
  }

  void TakeChannel(size_t number) {
    InterferingCommand& c = commands_[number];
    if (!c.hop || c.holds_channel) return;
    const int k = c.hop->channel;
    if (channel_is_taken_[k] || servers_.channel_free[k] > now_) return;
    for (size_t before = 0; before < number; ++before) {
      const InterferingCommand& other = commands_[before];
      if (other.hop && other.hop->channel == k && !other.has_finished) return;
    }
    channel_is_taken_[k] = c.holds_channel = true;
  }

  void Finish(InterferingCommand& c) {
    c.has_finished = true;
    for (size_t i = 0; i < c.slots.size(); ++i) {
      const int d = c.slot_devices[i];
      const bool has_gap = !c.hop && c.alone > 0;
      servers_.slot_free[d][c.slots[i]] = c.finish + (has_gap ? cluster_.kind_of(d).gap : 0);
      is_taken_[d][c.slots[i]] = false;
    }
    if (!c.hop) return;
    Nanos& free = servers_.channel_free[c.hop->channel];
    free = std::max(free, c.finish + cluster_.channel(c.hop->channel).gap);
    if (c.holds_channel) channel_is_taken_[c.hop->channel] = false;
  }

  bool IsActive(const InterferingCommand& c) const {
    return c.has_started && !c.has_finished && c.home >= 0;
  }

  void SetRates() {
    for (InterferingCommand& a : commands_) {
      if (!IsActive(a)) continue;
      std::int64_t slower = kInterferenceOne;
      for (const InterferingCommand& b : commands_) {
        if (!IsActive(b) || !(cluster_.device(a.home).neighbors >> b.home & 1)) continue;
        slower += std::int64_t{a.figures.sensitivity} * b.figures.pressure / kInterferenceOne;
      }
      a.rate = Work(
          std::max<std::int64_t>(16, std::int64_t{kInterferenceOne} * kInterferenceOne / slower));
      a.finish = now_ + static_cast<Nanos>((a.left + a.rate - 1) / a.rate);
    }
  }

  // Returns the time of the next event, and advances the work of the activities to it.
  Nanos NextTime() {
    Nanos next = kNever;
    const auto consider = [&](Nanos time) {
      if (time > now_) next = std::min(next, time);
    };
    for (const InterferingCommand& c : commands_) {
      consider(c.issued);
      if (c.has_started) consider(c.finish);
      if (c.has_finished) consider(c.Arrival());
    }
    for (const auto& free : servers_.slot_free) std::ranges::for_each(free, consider);
    std::ranges::for_each(servers_.channel_free, consider);
    for (InterferingCommand& c : commands_) {
      if (IsActive(c) && next < kNever) c.left -= c.rate * Work(next - now_);
    }
    return next;
  }

  Timeline Events() {
    Timeline timeline;
    for (const InterferingCommand& c : commands_) {
      if (!c.hop) {
        timeline.ops.push_back({c.op, place_[c.op], c.slots[0], c.ready, c.start, c.finish});
        continue;
      }
      TransferEvent event = *c.hop;
      event.ready = c.ready;
      event.start = c.start;
      event.wire = c.finish - c.start;
      event.arrival = c.Arrival();
      const Occupies occupies = cluster_.channel(event.channel).occupies;
      if (OccupiesSource(occupies)) event.source_slot = c.slots.front();
      if (OccupiesDestination(occupies)) event.destination_slot = c.slots.back();
      timeline.transfers.push_back(std::move(event));
    }
    timeline.outcome = Summarize(problem_, timeline, servers_, options_.count_gaps);
    return timeline;
  }

  const Problem& problem_;
  const Cluster& cluster_;
  const std::span<const DeviceIndex> place_;
  const SimulatorOptions& options_;
  Servers servers_;
  std::vector<InterferingCommand> commands_;
  std::vector<std::vector<bool>> is_taken_;  // [num_devices][slots]
  std::vector<bool> channel_is_taken_;       // [num_channels]
  Nanos now_ = 0;
};

}  // namespace

Timeline SimulateInterference(const Problem& problem,
                              std::span<const DeviceIndex> device_of_op,
                              const SimulatorOptions& options) {
  return InterferenceStep(problem, device_of_op, options).Simulate();
}

}  // namespace emplace::reference
