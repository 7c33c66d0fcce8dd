#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "framework/base/file.h"
#include "framework/schedule/transfer_plan.h"
#include "scripts/emplace/bindings/bindings.h"
#include "simulator/reference/reference.h"

namespace emplace::python {
namespace {

std::vector<std::string> ChannelNames(const PythonTimeline& self) {
  std::vector<std::string> names;
  for (const Channel& channel : self.problem->cluster().channels()) names.push_back(channel.name);
  return names;
}

}  // namespace

PythonTimeline SimulateTimeline(PythonProblem& self, nb::handle placement) {
  const Placement of_groups = RequireSize(self, GivenPlacement(placement));
  const nb::gil_scoped_release release;
  return TimelineColumns(
      self.loaded.exact,
      SimulateReference(*self.loaded.exact, self.loaded.Expand(of_groups), self.exact_how));
}

PythonTimeline TimelineColumns(std::shared_ptr<const Problem> problem, Timeline timeline) {
  PythonTimeline made{std::move(problem), std::move(timeline), {}, {}, {}};
  for (const OpEvent& e : made.timeline.ops) {
    made.ops.insert(made.ops.end(), {e.op, e.device, e.slot, e.ready, e.start, e.finish});
  }
  for (const TransferEvent& e : made.timeline.transfers) {
    made.transfers.insert(made.transfers.end(),
                          {e.producer,
                           e.tensor == kControlTensor ? -1 : e.tensor,
                           e.channel,
                           e.source,
                           e.destinations.empty() ? -1 : e.destinations[0],
                           e.bytes,
                           e.start,
                           e.start + e.wire,
                           e.arrival});
  }
  for (const MemoryEvent& e : made.timeline.memory) {
    made.memory.insert(made.memory.end(), {e.device, e.time, e.bytes});
  }
  return made;
}

void AddTimeline(nb::module_& module) {
  using T = PythonTimeline;
  nb::class_<T>(
      module, "Timeline", "Events of one step, op by op even if the search was contracted.")
      .def_prop_ro(
          "step_time", [](const T& self) { return self.timeline.outcome.step_time; }, "[ns]")
      .def_prop_ro("feasible", [](const T& self) { return self.timeline.outcome.feasible; })
      .def_prop_ro("device_names",
                   [](const T& self) { return self.problem->cluster().DeviceNames(); })
      .def_prop_ro("channel_names", ChannelNames)
      .def_prop_ro("ops",
                   Array<T>([](const T& t, nb::handle self) {
                     return ViewOf(t.ops.data(), t.ops.size() / 6, 6, self);
                   }),
                   "[num_ops, 6] int64: op, device, slot, ready, start, finish [ns]")
      .def_prop_ro("transfers",
                   Array<T>([](const T& t, nb::handle self) {
                     return ViewOf(t.transfers.data(), t.transfers.size() / 9, 9, self);
                   }),
                   "[num_transfers, 9] int64: producer (op), tensor (-1: control), channel, source "
                   "device, first\n"
                   "destination device, bytes, start, end on the channel, arrival [ns]")
      .def_prop_ro("memory",
                   Array<T>([](const T& t, nb::handle self) {
                     return ViewOf(t.memory.data(), t.memory.size() / 3, 3, self);
                   }),
                   "[num_changes, 3] int64: device, time [ns], bytes in use from then on [B]")
      .def(
          "chrome_trace",
          [](const T& self) { return FormatTrace(*self.problem, self.timeline); },
          "Returns the timeline as text (JSON) for Chrome's trace viewer and Perfetto.")
      .def(
          "write_chrome_trace",
          [](const T& self, const std::string& path) {
            WriteFileAtomically(path, FormatTrace(*self.problem, self.timeline));
          },
          nb::arg("path"),
          "Writes that text to a file, gzipped if the name ends in .gz.")
      .def("__repr__", [](const T& self) {
        return fmt::format("Timeline({:.6g} ms, {} ops, {} transfers)",
                           static_cast<double>(self.timeline.outcome.step_time) / 1e6,
                           self.timeline.ops.size(),
                           self.timeline.transfers.size());
      });
}

}  // namespace emplace::python
