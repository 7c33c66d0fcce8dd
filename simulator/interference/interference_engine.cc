// The fast engine of interference semantics (README.md, "Interference semantics"). One pass over
// the ops in issue order lists the commands of the step and the order in which each server serves
// them; it also counts memory, as in stream semantics. A command starts when it has all arrivals
// that it awaits, and its servers. Only activities need the course of time, from event to event:
// any other command finishes at a time that is known as soon as its start is. A machine without
// neighbours has no activities, and is left to the engine of stream semantics.
//
// A device only counts its free slots, since the choice of a slot changes no time.

#include <algorithm>
#include <bit>
#include <functional>

#include "framework/schedule/stream_memory.h"
#include "simulator/engine/engine.h"

namespace emplace {
namespace {

__extension__ using Work128 = unsigned __int128;

// Returns ceil(work / rate), by a 64-bit division where possible.
Nanos TimeFor(Work128 work, std::uint64_t rate) {
  if (work >> 63 == 0)
    return static_cast<Nanos>((static_cast<std::uint64_t>(work) + rate - 1) / rate);
  return static_cast<Nanos>((work + rate - 1) / rate);
}

class InterferenceEngine final : public Engine {
 public:
  InterferenceEngine(const CompiledProblem& problem, const EngineOptions& options)
      : p_(problem),
        options_(options),
        servers_(problem),
        memory_(problem, problem.num_devices),
        command_of_(problem.num_ops),
        cold_(problem.has_cold ? problem.num_ops : 0),
        device_queues_(problem.num_devices),
        channel_queues_(problem.num_channels),
        broadcast_stamp_(problem.num_channels, 0),
        broadcast_command_(problem.num_channels, 0) {}

  void Run(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) override {
    PrepareOutcome(p_, detail, outcome);
    device_ = device;
    detail_ = &detail;
    outcome_ = &outcome;
    ListCommands();
    GoThroughTime();
    outcome.step_time = options_.count_gaps ? std::max(latest_, latest_free_) : latest_;
    FinishOutcome(p_, servers_, memory_.peak(), outcome);
  }

 private:
  // An op, or one hop of a copy.
  struct Command {
    Nanos ready = 0;          // latest time of an arrival or server so far; at last its start
    Nanos alone = 0;          // cost, or wire time [ns]
    int missing = 0;          // arrivals and servers that it still needs
    int position = 0;         // of the op, or of the producer
    int item = -1;            // -1: an op
    int channel = -1;         // of a hop
    int source = 0;           // device where the op runs, or where the route begins
    int destination = 0;      // where the route ends
    int first_successor = 0;  // into successors_, linked; 0: none
    bool is_first_hop = false;
    bool arrives = false;  // a hop, and the last one to its destination
  };
  // The next step after a hop: another hop, or the arrival on another destination of a broadcast.
  struct Successor {
    int command = -1;  // -1: the item is on `device`
    int device = 0;
    int next = 0;
  };
  // Commands that need a server, in their order; the server was given to the first `given`.
  struct Queue {
    std::vector<int> commands;
    size_t given = 0;
    int available = 0;  // free slots of a device with several
  };
  struct Activity {
    int command = 0;
    int device = 0;
    Interference figures;
    Work128 left = 0;               // units of work at `since`
    Nanos since = 0;                // [ns]
    std::int64_t excess = 0;        // by its neighbours' activities, InterferenceExcess()
    std::int64_t rated_excess = 0;  // for which `rate` was set
    std::uint64_t rate = 0;         // 0: not yet known
    Nanos finish = kMaxNanos;       // at this rate
  };
  // The start of an activity, or a slot of a device with several that becomes free.
  struct Event {
    Nanos time;
    int command;  // -1: a slot
    int device;
    bool operator>(const Event& other) const { return time > other.time; }
  };

  // -- The commands of the step --

  void ListCommands() {
    commands_.clear();
    successors_.assign(1, {});
    for (Queue& queue : device_queues_) queue.commands.clear();
    for (Queue& queue : channel_queues_) queue.commands.clear();
    servers_.Reset();
    std::fill(cold_.begin(), cold_.end(), 0);
    host_ = 0;
    if (options_.memory) memory_.Begin(p_, device_);
    for (int position = 0; position < p_.num_ops; ++position) {
      const int d = device_[position];
      command_of_[position] =
          AddCommand({.ready = p_.has_host ? Issue(d) : 0,
                      .alone = p_.cost[size_t(position) * p_.num_devices + d] +
                               (p_.has_cold ? cold_[position] : 0),
                      .missing = p_.read_begin[position + 1] - p_.read_begin[position],
                      .position = position,
                      .source = d,
                      .destination = d});
      Enqueue(device_queues_[d], command_of_[position]);
      if (options_.memory) memory_.Allocate(p_, position);
      for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
        const std::uint64_t mask =
            (options_.memory ? memory_.Make(p_, item, position) : p_.ReaderDevices(item, device_)) &
            ~(std::uint64_t{1} << d);
        if (mask != 0) AddCopies(position, item, d, mask);
      }
      if (options_.memory) memory_.Release(p_, position);
    }
  }

  int AddCommand(const Command& command) {
    commands_.push_back(command);
    return static_cast<int>(commands_.size()) - 1;
  }

  void Enqueue(Queue& queue, int command) {
    queue.commands.push_back(command);
    ++commands_[command].missing;
  }

  Nanos Issue(int d) {
    host_ += p_.issue[d];
    return host_ + p_.launch[d];
  }

  void AddCopies(int position, int item, int d, std::uint64_t mask) {
    ++stamp_;
    for (; mask != 0; mask &= mask - 1) {
      const int e = std::countr_zero(mask);
      const Nanos cold = p_.has_cold ? p_.cold[size_t(item) * p_.num_devices + e] : 0;
      if (cold > 0) {
        cold_[p_.ColdReader(item, e, [&](int reader) { return device_[reader]; })] += cold;
      }
      const auto route = p_.route(d, e);
      const int first = route[0];
      int last = 0;
      bool shared = false;
      if (p_.broadcast[first] && broadcast_stamp_[first] == stamp_) {
        last = broadcast_command_[first];
        shared = true;
      } else {
        last = AddHop(position, item, first, d, e, p_.has_host ? Issue(d) : 0);
        commands_[last].is_first_hop = true;
        broadcast_stamp_[first] = stamp_;
        broadcast_command_[first] = last;
      }
      for (size_t hop = 1; hop < route.size(); ++hop) {
        const int next = AddHop(position, item, route[hop], d, e, 0);
        AddSuccessor(last, {.command = next});
        last = next;
        shared = false;
      }
      if (shared) {
        AddSuccessor(last, {.device = e});
      } else {
        commands_[last].arrives = true;
      }
      if (options_.memory) memory_.Receive(p_, item, e);
    }
  }

  int AddHop(int position, int item, int k, int source, int destination, Nanos issued) {
    const int command = AddCommand({.ready = issued,
                                    .alone = p_.wire[size_t(item) * p_.num_rates + p_.rate[k]],
                                    .missing = 1,
                                    .position = position,
                                    .item = item,
                                    .channel = k,
                                    .source = source,
                                    .destination = destination});
    if (options_.channel_contention) Enqueue(channel_queues_[k], command);
    if (p_.occupies_source[k]) Enqueue(device_queues_[source], command);
    if (p_.occupies_destination[k]) Enqueue(device_queues_[destination], command);
    return command;
  }

  void AddSuccessor(int command, Successor successor) {
    successor.next = commands_[command].first_successor;
    commands_[command].first_successor = static_cast<int>(successors_.size());
    successors_.push_back(successor);
  }

  // -- The course of time --

  void GoThroughTime() {
    now_ = latest_ = latest_free_ = 0;
    events_.clear();
    activities_.clear();
    for (int d = 0; d < p_.num_devices; ++d) {
      Queue& queue = device_queues_[d];
      queue.given = 0;
      queue.available = p_.slots[d];
      GiveSlots(queue);
    }
    for (Queue& queue : channel_queues_) {
      queue.given = 0;
      Give(queue, 0);
    }
    RunStarted();
    while (true) {
      Nanos next = events_.empty() ? kMaxNanos : events_.front().time;
      for (const Activity& a : activities_) next = std::min(next, a.finish);
      if (next == kMaxNanos) return;
      now_ = next;
      for (size_t i = 0; i < activities_.size();) {
        if (activities_[i].finish > now_) {
          ++i;
          continue;
        }
        const Activity a = activities_[i];
        activities_[i] = activities_.back();
        activities_.pop_back();
        for (Activity& b : activities_) {
          if (AreNeighbors(a, b)) b.excess -= InterferenceExcess(b.figures, a.figures);
        }
        Finish(commands_[a.command], now_);
      }
      RunStarted();
      while (!events_.empty() && events_.front().time == now_) {
        std::pop_heap(events_.begin(), events_.end(), std::greater<>());
        const Event event = events_.back();
        events_.pop_back();
        if (event.command >= 0) {
          StartActivity(event.command, event.device);
        } else {
          ++device_queues_[event.device].available;
          GiveSlots(device_queues_[event.device]);
          RunStarted();
        }
      }
      SetRates();
    }
  }

  void Push(const Event& event) {
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end(), std::greater<>());
  }

  // Finishes all commands that have started and are no activities, and those that follow them.
  void RunStarted() {
    while (!started_.empty()) {
      const Command& c = commands_[started_.back()];
      started_.pop_back();
      Finish(c, c.ready + c.alone);
    }
  }

  // Gives a server to its next command, from `free` on. @pre no command holds it
  void Give(Queue& queue, Nanos free) {
    if (queue.given < queue.commands.size()) Get(queue.commands[queue.given++], free);
  }
  void GiveSlots(Queue& queue) {
    for (; queue.available > 0 && queue.given < queue.commands.size(); --queue.available) {
      Give(queue, now_);
    }
  }

  // Notes an arrival or server for the command at `time`; the last one starts the command.
  void Get(int command, Nanos time) {
    Command& c = commands_[command];
    c.ready = std::max(c.ready, time);
    if (--c.missing > 0) return;
    const int home = Home(c);
    if (c.alone > 0 && home >= 0 && p_.neighbors[home] != 0 &&
        FiguresOf(c, home) != Interference{}) {
      Push({c.ready, command, home});
    } else {
      started_.push_back(command);  // not finished here: loops over another command call this
    }
  }

  // Returns the device that a command runs on; -1: a transfer that occupies none.
  int Home(const Command& c) const {
    if (c.item < 0 || p_.occupies_source[c.channel]) return c.source;
    return p_.occupies_destination[c.channel] ? c.destination : -1;
  }
  const Interference& FiguresOf(const Command& c, int home) const {
    return c.item < 0 ? p_.interference[size_t(c.position) * p_.num_devices + home]
                      : p_.transfers[home];
  }

  void StartActivity(int command, int home) {
    const Command& c = commands_[command];
    Activity a{.command = command,
               .device = home,
               .figures = FiguresOf(c, home),
               .left = Work128(c.alone) * kInterferenceOne,
               .since = now_};
    for (Activity& b : activities_) {
      if (!AreNeighbors(a, b)) continue;
      a.excess += InterferenceExcess(a.figures, b.figures);
      b.excess += InterferenceExcess(b.figures, a.figures);
    }
    activities_.push_back(a);
  }
  bool AreNeighbors(const Activity& a, const Activity& b) const {
    return p_.neighbors[a.device] >> b.device & 1;
  }

  // Sets the rates of the activities whose neighbours have started or finished.
  void SetRates() {
    for (Activity& a : activities_) {
      if (a.rate != 0 && a.excess == a.rated_excess) continue;
      a.rated_excess = a.excess;
      const auto rate = static_cast<std::uint64_t>(InterferenceRate(a.excess));
      if (rate == a.rate) continue;
      a.left -= Work128(a.rate) * static_cast<std::uint64_t>(now_ - a.since);
      a.since = now_;
      a.rate = rate;
      a.finish = now_ + TimeFor(a.left, rate);
    }
  }

  void Finish(const Command& c, Nanos end) {
    if (c.item < 0) {
      FinishOp(c, end);
    } else {
      FinishHop(c, end);
    }
  }

  void FinishOp(const Command& c, Nanos end) {
    latest_ = std::max(latest_, end);
    servers_.busy[c.source] += end - c.ready;
    if (detail_->op_times) {
      outcome_->start[p_.op_at[c.position]] = c.ready;
      outcome_->finish[p_.op_at[c.position]] = end;
    }
    ReleaseSlot(c.source, end + (c.alone > 0 ? p_.gap[c.source] : 0));
    for (int item = p_.item_begin[c.position]; item < p_.item_begin[c.position + 1]; ++item) {
      Deliver(item, c.source, end);
    }
    // The hops of its copies follow it in the list; first hops begin at this device.
    const int last = c.position + 1 < p_.num_ops ? command_of_[c.position + 1]
                                                 : static_cast<int>(commands_.size());
    for (int hop = command_of_[c.position] + 1; hop < last; ++hop) {
      if (commands_[hop].is_first_hop) Get(hop, end);
    }
  }

  void FinishHop(const Command& c, Nanos end) {
    const Nanos took = end - c.ready;
    const Nanos arrival = end + p_.latency[c.channel];
    const Nanos free = end + p_.channel_gap[c.channel];
    latest_ = std::max(latest_, arrival);
    latest_free_ = std::max(latest_free_, free);
    if (detail_->channels) {
      ChannelOutcome& channel = outcome_->channels[c.channel];
      channel.busy += took;
      channel.bytes += p_.items[c.item].bytes;
      ++channel.transfers;
    }
    if (options_.channel_contention) Give(channel_queues_[c.channel], free);
    if (p_.occupies_source[c.channel]) {
      servers_.busy[c.source] += took;
      ReleaseSlot(c.source, end);
    }
    if (p_.occupies_destination[c.channel]) {
      servers_.busy[c.destination] += took;
      ReleaseSlot(c.destination, end);
    }
    if (c.arrives) Deliver(c.item, c.destination, arrival);
    for (int s = c.first_successor; s != 0; s = successors_[s].next) {
      if (successors_[s].command >= 0) {
        Get(successors_[s].command, arrival);
      } else {
        Deliver(c.item, successors_[s].device, arrival);
      }
    }
  }

  // Delivers an item to its readers on a device.
  void Deliver(int item, int device, Nanos time) {
    for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
      if (device_[p_.readers[r]] == device) Get(command_of_[p_.readers[r]], time);
    }
  }

  void ReleaseSlot(int d, Nanos free) {
    latest_free_ = std::max(latest_free_, free);
    Queue& queue = device_queues_[d];
    if (p_.slots[d] == 1) {
      Give(queue, free);
    } else if (free > now_) {
      Push({free, -1, d});  // another slot may be free earlier
    } else {
      ++queue.available;
      GiveSlots(queue);
    }
  }

  const CompiledProblem& p_;
  const EngineOptions options_;
  ServerState servers_;  // used only for busy times
  StreamMemory memory_;

  // State of the run.
  const std::uint8_t* device_ = nullptr;
  const RunDetail* detail_ = nullptr;
  Outcome* outcome_ = nullptr;
  std::vector<Command> commands_;
  std::vector<int> command_of_;  // [num_ops] by position
  std::vector<Successor> successors_;
  std::vector<Nanos> cold_;            // [num_ops] cold reads so far; empty if no kind has any
  std::vector<Queue> device_queues_;   // [num_devices]
  std::vector<Queue> channel_queues_;  // [num_channels]
  std::vector<std::int64_t> broadcast_stamp_;
  std::vector<int> broadcast_command_;
  std::int64_t stamp_ = 0;
  Nanos host_ = 0;

  Nanos now_ = 0, latest_ = 0, latest_free_ = 0;
  std::vector<Event> events_;  // a heap, the earliest first
  std::vector<int> started_;   // commands that have started and are no activities
  std::vector<Activity> activities_;
};

}  // namespace

std::unique_ptr<Engine> MakeInterferenceEngine(const CompiledProblem& problem,
                                               const EngineOptions& options) {
  if (!problem.has_interference) return MakeStreamEngine(problem, options);
  return std::make_unique<InterferenceEngine>(problem, options);
}

}  // namespace emplace
