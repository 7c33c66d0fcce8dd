#include "framework/cost/cost_table.h"
#include "framework/placement/placement.h"
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/small_problem.h"
#include "tests/fuzz/targets.h"

namespace emplace::fuzz {
namespace {

void ReadCosts(const std::string& input) {
  const std::string text = FormatCostTable(ParseCostTable(input, "fuzz.json"));
  Promise(FormatCostTable(ParseCostTable(text, "written.json")) == text,
          "a cost table is written and reads back equal");
}

void ReadPlacementText(const std::string& input) {
  const Problem& problem = *SmallProblem();
  const PlacementFile file = ParsePlacement(
      input, problem.graph(), problem.cluster(), "fuzz.json", [](const std::string&) {});
  Promise(file.device_of_op.size() == static_cast<std::size_t>(problem.num_ops()),
          "a placement has a device for each op");
  const std::string text = FormatPlacement(
      file.device_of_op, problem.graph(), problem.cluster(), file.issue_order, file.simulated);
  const PlacementFile again =
      ParsePlacement(text, problem.graph(), problem.cluster(), "written.json");
  Promise(again.device_of_op == file.device_of_op && again.issue_order == file.issue_order &&
              again.simulated == file.simulated,
          "a placement is written and reads back equal");
}

std::vector<std::string> PlacementSeeds() {
  const Problem& problem = *SmallProblem();
  std::vector<DeviceIndex> devices(static_cast<std::size_t>(problem.num_ops()), 0);
  std::vector<int> order(devices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  return {FormatPlacement(devices, problem.graph(), problem.cluster()),
          FormatPlacement(
              devices, problem.graph(), problem.cluster(), order, SimulatedAs{.step_time = 7})};
}

}  // namespace

constinit const FuzzTarget kCostTableTarget =
    {"cost_table", "emplace-costs, JSON", ReadCosts, MutateJson, nullptr, 16384};
constinit const FuzzTarget kPlacementTarget =
    {"placement", "emplace-placement, JSON", ReadPlacementText, MutateJson, PlacementSeeds, 8192};

}  // namespace emplace::fuzz
