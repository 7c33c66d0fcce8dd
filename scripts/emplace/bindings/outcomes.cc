#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include "framework/base/error.h"
#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {
namespace {

OutcomeColumns Prepare(Outcomes& outcomes,
                       std::size_t size,
                       int num_devices,
                       const WantedColumns& wanted) {
  outcomes.num_devices = num_devices;
  outcomes.step_time.resize(size);
  outcomes.deficit.resize(size);
  outcomes.feasible = std::make_unique<bool[]>(size);
  if (wanted.peaks) outcomes.peak.resize(size * num_devices);
  if (wanted.busy) outcomes.busy.resize(size * num_devices);
  return {outcomes.step_time, outcomes.deficit, outcomes.peak, outcomes.busy};
}

void SetFeasible(Outcomes& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes.feasible[i] = outcomes.deficit[i] == 0;
}

}  // namespace

std::vector<DeviceIndex> ToDevices(const std::int64_t* data, std::size_t size) {
  std::vector<DeviceIndex> devices(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] < 0 || data[i] >= kMaxDevices) {
      throw InputError(
          fmt::format("placement: {} at position {} is not a device index", data[i], i));
    }
    devices[i] = static_cast<DeviceIndex>(data[i]);
  }
  return devices;
}

std::shared_ptr<Outcomes> EvaluateRows(Evaluator& evaluator,
                                       const PlacementRows& rows,
                                       const WantedColumns& wanted) {
  auto outcomes = std::make_shared<Outcomes>();
  evaluator.EvaluateRows(
      rows, Prepare(*outcomes, rows.num_placements, evaluator.problem().num_devices(), wanted));
  SetFeasible(*outcomes);
  return outcomes;
}

GivenPlacements::GivenPlacements(nb::handle placements) {
  const auto given = Integers<IntegerMatrix>(placements, "placements");
  device = ToDevices(given.data(), given.size());
  num_placements = given.shape(0);
  num_groups = given.shape(1);
}

Placement GivenPlacement(nb::handle placement) {
  const auto given = Integers<IntegerVector>(placement, "placement");
  return {ToDevices(given.data(), given.size())};
}

GivenMoves::GivenMoves(nb::handle from, nb::handle given, nb::handle offsets)
    : base(GivenPlacement(from)), moves(Integers<IntegerMatrix>(given, "moves")) {
  const std::size_t num_moves = moves.shape(0);
  if (moves.shape(1) != 2) {
    throw InputError(fmt::format("moves: shape [{}, {}]; expected [num_moves, 2]: group, device",
                                 num_moves,
                                 moves.shape(1)));
  }
  if (offsets.is_none()) {
    for (std::size_t i = 0; i <= num_moves; ++i) begin.push_back(static_cast<int>(i));
    return;
  }
  const auto told = Integers<IntegerVector>(offsets, "begin");
  begin.assign(told.data(), told.data() + told.size());
  if (begin.empty() || begin.front() != 0 || begin.back() != static_cast<int>(num_moves) ||
      !std::is_sorted(begin.begin(), begin.end())) {
    throw InputError(
        fmt::format("moves: begin must ascend from 0 to the number of moves ({})", num_moves));
  }
}

std::shared_ptr<Outcomes> EvaluateMoves(Evaluator& evaluator,
                                        const GivenMoves& given,
                                        const WantedColumns& wanted) {
  const Problem& problem = evaluator.problem();
  std::vector<Move> moves(given.moves.shape(0));
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const std::int64_t group = given.moves(i, 0), device = given.moves(i, 1);
    if (group < 0 || group >= problem.num_groups() || device < 0 ||
        device >= problem.num_devices()) {
      throw InputError(fmt::format(
          "moves: row {} is (group {}, device {}); the problem has {} groups and {} devices",
          i,
          group,
          device,
          problem.num_groups(),
          problem.num_devices()));
    }
    moves[i] = {static_cast<int>(group), static_cast<DeviceIndex>(device)};
  }
  const Neighbors neighbors{given.base, given.begin, moves};
  auto outcomes = std::make_shared<Outcomes>();
  evaluator.EvaluateNeighbors(neighbors,
                              Prepare(*outcomes, neighbors.size(), problem.num_devices(), wanted));
  SetFeasible(*outcomes);
  return outcomes;
}

void AddOutcomes(nb::module_& module) {
  nb::class_<Outcomes>(
      module,
      "Outcomes",
      "Outcomes of a batch of B placements, as read-only NumPy columns (no copies).")
      .def("__len__", &Outcomes::size)
      .def_prop_ro("step_time",
                   Array<Outcomes>([](const Outcomes& outcomes, nb::handle self) {
                     return ViewOf(outcomes.step_time.data(), outcomes.size(), self);
                   }),
                   "[B] int64: the problem's objective, a step's time or the period [ns]")
      .def_prop_ro("feasible",
                   Array<Outcomes>([](const Outcomes& outcomes, nb::handle self) {
                     return ViewOf<bool>(outcomes.feasible.get(), outcomes.size(), self);
                   }),
                   "[B] bool: whether the placement fits into the memory of every device")
      .def_prop_ro("deficit",
                   Array<Outcomes>([](const Outcomes& outcomes, nb::handle self) {
                     return ViewOf(outcomes.deficit.data(), outcomes.size(), self);
                   }),
                   "[B] int64: missing memory, summed over the devices; 0: feasible [B]")
      .def_prop_ro("peaks",
                   Array<Outcomes>([](const Outcomes& outcomes,
                                      nb::handle self) -> std::optional<View<std::int64_t, 2>> {
                     if (outcomes.peak.empty() && outcomes.size() > 0) return std::nullopt;
                     return ViewOf(
                         outcomes.peak.data(), outcomes.size(), outcomes.num_devices, self);
                   }),
                   "[B, num_devices] int64: peak memory [B]; None if it was not requested")
      .def_prop_ro(
          "busy",
          Array<Outcomes>(
              [](const Outcomes& outcomes, nb::handle self) -> std::optional<View<Nanos, 2>> {
                if (outcomes.busy.empty() && outcomes.size() > 0) return std::nullopt;
                return ViewOf(outcomes.busy.data(), outcomes.size(), outcomes.num_devices, self);
              }),
          "[B, num_devices] int64: busy time of each device [ns]; None if it was not requested")
      .def("__repr__", [](const Outcomes& outcomes) {
        std::size_t feasible = 0;
        for (std::size_t i = 0; i < outcomes.size(); ++i) feasible += outcomes.feasible[i];
        return fmt::format("Outcomes({} placements, {} feasible)", outcomes.size(), feasible);
      });
}

}  // namespace emplace::python
