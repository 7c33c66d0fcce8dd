#include "tests/support/timeline_text.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "framework/schedule/transfer_plan.h"

namespace emplace::testing {
namespace {

std::string SentName(const Problem& problem, const TransferEvent& event) {
  if (event.tensor == kControlTensor) return problem.graph().op(event.producer).name + " (control)";
  const Tensor& tensor = problem.graph().tensor(event.tensor);
  return tensor.name.empty() ? fmt::format("tensor {}", event.tensor) : tensor.name;
}

std::string ReceiverNames(const Problem& problem, const TransferEvent& event) {
  std::string names;
  for (int d : event.destinations) {
    names += (names.empty() ? "" : ",") + problem.cluster().device(d).name;
  }
  return names;
}

// " on gpu:0/0 gpu:1/0", or nothing.
std::string OccupiedSlots(const Problem& problem, const TransferEvent& event) {
  std::string slots;
  const auto add = [&](int device, int slot) {
    if (slot >= 0) slots += fmt::format(" {}/{}", problem.cluster().device(device).name, slot);
  };
  add(event.source, event.source_slot);
  add(event.destinations[0], event.destination_slot);
  return slots.empty() ? "" : " on" + slots;
}

}  // namespace

std::string FormatTimeline(const Problem& problem, const Timeline& timeline) {
  struct Line {
    Nanos start;
    int kind, id;
    std::string text;
  };
  std::vector<Line> lines;
  for (const OpEvent& event : timeline.ops) {
    lines.push_back(
        {event.start,
         1,
         event.op,
         fmt::format("{:>8} {:>8}  {:<10} {} (ready {})",
                     event.start,
                     event.finish,
                     fmt::format("{}/{}", problem.cluster().device(event.device).name, event.slot),
                     problem.graph().op(event.op).name,
                     event.ready)});
  }
  for (size_t i = 0; i < timeline.transfers.size(); ++i) {
    const TransferEvent& event = timeline.transfers[i];
    lines.push_back({event.start,
                     0,
                     static_cast<int>(i),
                     fmt::format("{:>8} {:>8}  {:<10} {} -> {} {} B hop {} (ready {}){}",
                                 event.start,
                                 event.arrival,
                                 problem.cluster().channel(event.channel).name,
                                 SentName(problem, event),
                                 ReceiverNames(problem, event),
                                 event.bytes,
                                 event.hop,
                                 event.ready,
                                 OccupiedSlots(problem, event))});
  }
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tie(a.start, a.kind, a.id) < std::tie(b.start, b.kind, b.id);
  });
  std::string text;
  for (const Line& line : lines) text += line.text + "\n";
  const Outcome& outcome = timeline.outcome;
  text += fmt::format("step {}{}\n", outcome.step_time, outcome.feasible ? "" : " infeasible");
  for (int d = 0; d < problem.num_devices(); ++d) {
    text += fmt::format("{} busy {} peak {} deficit {}\n",
                        problem.cluster().device(d).name,
                        outcome.devices[d].busy,
                        outcome.devices[d].peak,
                        outcome.devices[d].deficit);
  }
  return text;
}

}  // namespace emplace::testing
