#include "simulator/timeline.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/schedule/transfer_plan.h"

namespace emplace {
namespace {

std::string TensorName(const Problem& problem, const TransferEvent& event) {
  if (event.tensor == kControlTensor) return problem.graph().op(event.producer).name + " (control)";
  const Tensor& tensor = problem.graph().tensor(event.tensor);
  return tensor.name.empty() ? fmt::format("tensor {}", event.tensor) : tensor.name;
}

std::string DestinationNames(const Problem& problem, const TransferEvent& event) {
  std::string names;
  for (int d : event.destinations) {
    names += (names.empty() ? "" : ",") + problem.cluster().device(d).name;
  }
  return names;
}

// Writes the rows of the trace. Process 1 holds the slots of devices, process 2 the channels.
class TraceWriter {
 public:
  TraceWriter(const Problem& problem, const Timeline& timeline) : problem_(problem), t_(timeline) {
    int row = 0;
    for (const Device& device : problem.cluster().devices()) {
      first_row_.push_back(row);
      for (int slot = 0; slot < device.slots; ++slot) {
        Name(1,
             row++,
             device.slots > 1 ? fmt::format("{} slot {}", device.name, slot) : device.name);
      }
    }
    for (int k = 0; k < problem.cluster().num_channels(); ++k) {
      Name(2, k, problem.cluster().channel(k).name);
    }
    events_.push_back(
        {{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "devices"}}}});
    events_.push_back(
        {{"ph", "M"}, {"pid", 2}, {"name", "process_name"}, {"args", {{"name", "channels"}}}});
  }

  std::string Write() {
    for (const OpEvent& event : t_.ops) AddOp(event);
    for (const TransferEvent& event : t_.transfers) AddTransfer(event);
    for (const MemoryEvent& event : t_.memory) {
      events_.push_back({{"ph", "C"},
                         {"pid", 1},
                         {"name", "memory " + problem_.cluster().device(event.device).name},
                         {"ts", Micros(event.time)},
                         {"args", {{"bytes", event.bytes}}}});
    }
    const nlohmann::json trace = {{"displayTimeUnit", "ns"},
                                  {"traceEvents", std::move(events_)},
                                  {"otherData",
                                   {{"graph", problem_.graph().name()},
                                    {"cluster", problem_.cluster().name()},
                                    {"step_time_ns", t_.outcome.step_time}}}};
    return trace.dump() + "\n";
  }

 private:
  static double Micros(Nanos time) { return static_cast<double>(time) / 1000; }

  void Name(int process, int row, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"pid", process},
                       {"tid", row},
                       {"name", "thread_name"},
                       {"args", {{"name", name}}}});
    events_.push_back({{"ph", "M"},
                       {"pid", process},
                       {"tid", row},
                       {"name", "thread_sort_index"},
                       {"args", {{"sort_index", row}}}});
  }

  void AddOp(const OpEvent& event) {
    const Op& op = problem_.graph().op(event.op);
    events_.push_back({{"ph", "X"},
                       {"pid", 1},
                       {"tid", first_row_[event.device] + event.slot},
                       {"name", op.name},
                       {"cat", std::string(ToString(op.phase))},
                       {"ts", Micros(event.start)},
                       {"dur", Micros(event.finish - event.start)},
                       {"args", {{"kind", op.kind}, {"id", event.op}, {"ready_ns", event.ready}}}});
  }

  // Adds the transfer with an arrow from its producer (first hop) or to first readers (last hop).
  void AddTransfer(const TransferEvent& event) {
    events_.push_back({{"ph", "X"},
                       {"pid", 2},
                       {"tid", event.channel},
                       {"name", TensorName(problem_, event)},
                       {"cat", "transfer"},
                       {"ts", Micros(event.start)},
                       {"dur", Micros(event.wire)},
                       {"args",
                        {{"bytes", event.bytes},
                         {"to", DestinationNames(problem_, event)},
                         {"hop", event.hop},
                         {"arrival_ns", event.arrival}}}});
    if (event.source_slot >= 0) AddOccupied(event, event.source, event.source_slot);
    if (event.destination_slot >= 0) {
      AddOccupied(event, event.destinations[0], event.destination_slot);
    }
    if (event.hop == 0) {
      const OpEvent& producer = EventOf(event.producer);
      // The arrow begins within the producer's bar: at the end it would belong to no bar.
      Arrow(1,
            first_row_[producer.device] + producer.slot,
            std::max(producer.start, producer.finish - 1),
            2,
            event.channel,
            event.start);
    }
    const bool control = event.tensor == kControlTensor;
    const auto readers = control ? problem_.graph().control_readers(event.producer)
                                 : problem_.graph().readers(event.tensor);
    for (int d : event.destinations) {
      const auto route = problem_.cluster().route(event.source, d);
      if (event.hop + 1 < static_cast<int>(route.size())) continue;
      const OpEvent* first = nullptr;
      for (int reader : readers) {
        const OpEvent& candidate = EventOf(reader);
        if (candidate.device == d && (first == nullptr || candidate.start < first->start)) {
          first = &candidate;
        }
      }
      if (first != nullptr) {
        Arrow(2, event.channel, event.start, 1, first_row_[d] + first->slot, first->start);
      }
    }
  }

  // Adds the slot of a device that a transfer occupies.
  void AddOccupied(const TransferEvent& event, int device, int slot) {
    events_.push_back(
        {{"ph", "X"},
         {"pid", 1},
         {"tid", first_row_[device] + slot},
         {"name", TensorName(problem_, event)},
         {"cat", "transfer"},
         {"ts", Micros(event.start)},
         {"dur", Micros(event.wire)},
         {"args",
          {{"bytes", event.bytes}, {"channel", problem_.cluster().channel(event.channel).name}}}});
  }

  const OpEvent& EventOf(int op) {
    if (event_of_op_.empty()) {
      event_of_op_.resize(problem_.num_ops());
      for (size_t i = 0; i < t_.ops.size(); ++i) event_of_op_[t_.ops[i].op] = i;
    }
    return t_.ops[event_of_op_[op]];
  }

  void Arrow(int from_process, int from_row, Nanos from, int to_process, int to_row, Nanos to) {
    ++num_arrows_;
    events_.push_back({{"ph", "s"},
                       {"id", num_arrows_},
                       {"name", "data"},
                       {"cat", "flow"},
                       {"pid", from_process},
                       {"tid", from_row},
                       {"ts", Micros(from)}});
    events_.push_back({{"ph", "f"},
                       {"bp", "e"},
                       {"id", num_arrows_},
                       {"name", "data"},
                       {"cat", "flow"},
                       {"pid", to_process},
                       {"tid", to_row},
                       {"ts", Micros(to)}});
  }

  const Problem& problem_;
  const Timeline& t_;
  std::vector<nlohmann::json> events_;
  std::vector<int> first_row_;
  std::vector<size_t> event_of_op_;
  int num_arrows_ = 0;
};

}  // namespace

std::string FormatTrace(const Problem& problem, const Timeline& timeline) {
  return TraceWriter(problem, timeline).Write();
}

}  // namespace emplace
