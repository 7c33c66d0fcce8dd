// Queue semantics, as README.md defines it: one priority queue keyed (ready time, kind, id).

#include <algorithm>
#include <queue>
#include <tuple>

#include "simulator/reference/reference_internal.h"

namespace emplace::reference {
namespace {

struct Item {
  Nanos ready = 0;
  int kind = 0;  // 0 transfer, 1 op
  int op = 0;    // the op, or the transfer's producer
  int tensor = 0, destination = 0, hop = 0;
  int copy = -1;  // index into the copies made so far

  auto Key() const { return std::tie(ready, kind, op, tensor, destination, hop); }
  bool operator>(const Item& other) const { return Key() > other.Key(); }
};

class QueueRun {
 public:
  QueueRun(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const SimulatorOptions& options)
      : problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        device_of_op_(device_of_op),
        options_(options),
        servers_(cluster_, options.channel_contention),
        ready_(problem.num_ops(), 0),
        missing_(problem.num_ops(), 0) {}

  Timeline Run() {
    for (int v = 0; v < graph_.num_ops(); ++v) {
      missing_[v] = CountArrivals(v);
      if (missing_[v] == 0) queue_.push({0, 1, v});
    }
    while (!queue_.empty()) {
      const Item item = queue_.top();
      queue_.pop();
      item.kind == 1 ? ServeOp(item) : ServeTransfer(item);
    }
    timeline_.outcome = Summarize(problem_, timeline_, servers_, options_.count_gaps);
    return std::move(timeline_);
  }

 private:
  // Returns the number of arrivals that an op awaits: distinct produced tensors and control inputs.
  int CountArrivals(int op) const {
    int count = 0;
    for (int t : graph_.reads(op)) count += graph_.tensor(t).producer >= 0;
    std::vector<int> control = graph_.op(op).control_inputs;
    std::sort(control.begin(), control.end());
    return count + static_cast<int>(std::unique(control.begin(), control.end()) - control.begin());
  }

  void ServeOp(const Item& item) {
    const int v = item.op, d = device_of_op_[v], slot = servers_.PickSlot(d);
    const Nanos start = std::max(servers_.slot_free[d][slot], servers_.Issue(d, item.ready));
    const Nanos finish =
        servers_.Run(d, slot, start, CostWithColdReads(problem_, device_of_op_, v));
    timeline_.ops.push_back({v, d, slot, item.ready, start, finish});
    for (int t : graph_.op(v).outputs) Arrive(graph_.readers(t), d, finish);
    Arrive(graph_.control_readers(v), d, finish);
    for (Copy& copy : CopiesOf(graph_, cluster_, device_of_op_, v)) {
      queue_.push(
          {finish, 0, v, copy.tensor, copy.destinations[0], 0, static_cast<int>(copies_.size())});
      copies_.push_back(std::move(copy));
    }
  }

  void ServeTransfer(const Item& item) {
    const Copy copy = copies_[item.copy];
    const auto route = cluster_.route(copy.source, item.destination);
    const int channel = route[item.hop];
    const Nanos earliest = item.hop == 0 ? servers_.Issue(copy.source, item.ready) : item.ready;
    const Servers::Hop hop =
        servers_.Send(channel, copy.source, item.destination, earliest, copy.bytes);
    const std::vector<int> served =
        item.hop == 0 ? copy.destinations : std::vector<int>{item.destination};
    timeline_.transfers.push_back({.producer = copy.producer,
                                   .tensor = copy.tensor,
                                   .channel = channel,
                                   .hop = item.hop,
                                   .source = copy.source,
                                   .destinations = served,
                                   .bytes = copy.bytes,
                                   .source_slot = hop.source_slot,
                                   .destination_slot = hop.destination_slot,
                                   .ready = item.ready,
                                   .start = hop.start,
                                   .wire = hop.wire,
                                   .arrival = hop.arrival});
    for (int destination : served) {
      const int hops = static_cast<int>(cluster_.route(copy.source, destination).size());
      if (item.hop + 1 < hops) {
        queue_.push({hop.arrival, 0, item.op, item.tensor, destination, item.hop + 1, item.copy});
      } else {
        Arrive(copy.tensor == kControlTensor ? graph_.control_readers(copy.producer)
                                             : graph_.readers(copy.tensor),
               destination,
               hop.arrival);
      }
    }
  }

  void Arrive(std::span<const int> readers, int device, Nanos time) {
    for (int reader : readers) {
      if (device_of_op_[reader] != device) continue;
      ready_[reader] = std::max(ready_[reader], time);
      if (--missing_[reader] == 0) queue_.push({ready_[reader], 1, reader});
    }
  }

  const Problem& problem_;
  const Graph& graph_;
  const Cluster& cluster_;
  std::span<const DeviceIndex> device_of_op_;
  const SimulatorOptions options_;
  Servers servers_;
  std::vector<Nanos> ready_;
  std::vector<int> missing_;
  std::vector<Copy> copies_;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
  Timeline timeline_;
};

}  // namespace

Timeline SimulateQueue(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       const SimulatorOptions& options) {
  return QueueRun(problem, device_of_op, options).Run();
}

}  // namespace emplace::reference
