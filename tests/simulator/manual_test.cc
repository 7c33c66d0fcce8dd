// The tables of simulator/README.md against the simulator: the published golden cases and the
// worked ones, with the machines that the page describes.

#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "framework/cluster/cluster_io.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/upward_rank.h"
#include "tests/simulator/simulate.h"
#include "tests/support/pages.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// "a(10; 7600 B)@g0 -> b(20)@g1" and the like, one by one.
class CaseBuilder {
 public:
  explicit CaseBuilder(std::shared_ptr<const Cluster> cluster) : cluster_(std::move(cluster)) {}

  void Add(const std::string& statement) {
    const size_t arrow = statement.find("->");
    const std::string from = AddOp(statement.substr(0, arrow));
    if (arrow == std::string::npos) return;
    std::istringstream readers(statement.substr(arrow + 2));
    for (std::string reader; std::getline(readers, reader, ',');) {
      edges_.emplace_back(from, AddOp(reader));
    }
  }

  std::shared_ptr<const Problem> Build() const {
    std::vector<Tensor> tensors;
    std::vector<Op> ops;
    Costs costs;
    costs.num_ops = static_cast<int>(ops_.size());
    costs.num_devices = cluster_->num_devices();
    for (const auto& [name, op] : ops_) {  // in alphabetical order, as the page says
      REQUIRE(op.device >= 0);
      Tensor& tensor = tensors.emplace_back();
      tensor.name = name;
      tensor.bytes = op.bytes;
      Op& made = ops.emplace_back();
      made.name = name;
      made.kind = "test";
      made.outputs = {IdOf(name)};
      for (const auto& [from, to] : edges_) {
        if (to == name) made.inputs.push_back(IdOf(from));
      }
      costs.time.insert(costs.time.end(), costs.num_devices, op.cost);
    }
    costs.source.assign(costs.time.size(), CostSource::kMeasured);
    costs.uncertainty.assign(costs.time.size(), 0);
    return std::make_shared<const Problem>(
        std::make_shared<const Graph>("page", std::move(tensors), std::move(ops)),
        Grouping::Identity(costs.num_ops),
        cluster_,
        std::move(costs));
  }

  std::vector<DeviceIndex> Devices() const {
    std::vector<DeviceIndex> devices;
    for (const auto& [name, op] : ops_) devices.push_back(static_cast<DeviceIndex>(op.device));
    return devices;
  }

  int IdOf(const std::string& name) const {
    return static_cast<int>(std::distance(ops_.begin(), ops_.find(name)));
  }

 private:
  struct Entry {
    Nanos cost = 0;
    std::int64_t bytes = 0;
    int device = -1;
  };

  // @return the op's name
  std::string AddOp(const std::string& text) {
    static const std::regex pattern(R"(\s*(\w+)(?:\((\d+)(?:; (\d+) B)?\)@(\w+))?\s*)");
    std::smatch match;
    REQUIRE_MESSAGE(std::regex_match(text, match, pattern), text);
    Entry& op = ops_[match[1]];
    if (match[2].matched) {
      op.cost = 1000 * std::stoll(match[2]);
      op.bytes = match[3].matched ? std::stoll(match[3]) : 0;
      op.device = cluster_->FindDevice(match[4].str());
      REQUIRE_MESSAGE(op.device >= 0, text);
    }
    return match[1];
  }

  std::shared_ptr<const Cluster> cluster_;
  std::map<std::string, Entry> ops_;
  std::vector<std::pair<std::string, std::string>> edges_;
};

// "b 15.7, c 20" -> {b: "15.7", c: "20"}
std::map<std::string, std::string> PairsOf(const std::string& cell) {
  std::map<std::string, std::string> pairs;
  std::istringstream parts(cell);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    std::string name, value;
    REQUIRE_MESSAGE(static_cast<bool>(words >> name >> value), cell);
    pairs[name] = value;
  }
  return pairs;
}

SimulatorOptions OptionsOf(const std::string& cell, const Problem& problem) {
  const size_t comma = cell.find(", ");
  SimulatorOptions options;
  options.semantics = ParseSemantics(cell.substr(0, comma), "page");
  if (comma == std::string::npos) return options;
  const std::string more = cell.substr(comma + 2);
  options.count_gaps = more == "count_gaps";
  if (more == "upward_rank") {
    options.issue_order = IssueOrder(
        problem.graph(), IntegerUpwardRanks(problem.graph(), problem.cluster(), problem.costs()));
  } else {
    CHECK(more == "count_gaps");
  }
  return options;
}

// @return the number of cases
int CheckTable(const std::string& heading) {
  const std::string section = SectionOf(ReadPage("simulator/README.md"), heading);
  const std::vector<std::string> machines = FencedBlocks(section, "yaml");
  REQUIRE(machines.size() == 1);
  const auto cluster = std::make_shared<const Cluster>(
      ParseCluster(ConfigNode::FromString(machines[0], "simulator/README.md"), {}));
  int cases = 0;
  for (const auto& row : TableOf(section)) {
    CAPTURE(row.at("case"));
    CAPTURE(row.at("semantics"));
    CaseBuilder builder(cluster);
    for (const std::string& statement : CodeSpans(row.at("case"))) builder.Add(statement);
    const auto problem = builder.Build();
    const Timeline timeline =
        Simulate(problem, builder.Devices(), OptionsOf(row.at("semantics"), *problem));
    CHECK(timeline.outcome.step_time == ParseTime(row.at("step time [us]") + "us"));
    for (const auto& [op, start] : PairsOf(row.at("starts [us]"))) {
      CAPTURE(op);
      CHECK(timeline.outcome.start.at(builder.IdOf(op)) == ParseTime(start + "us"));
    }
    const auto check_devices = [&](const std::string& column, const auto& is_as_said) {
      if (!row.contains(column)) return;
      for (const auto& [device, value] : PairsOf(row.at(column))) {
        CAPTURE(device);
        CHECK(is_as_said(timeline.outcome.devices.at(cluster->FindDevice(device)), value));
      }
    };
    check_devices("peaks [B]", [](const DeviceOutcome& device, const std::string& bytes) {
      return device.peak == std::stoll(bytes);
    });
    check_devices("busy [us]", [](const DeviceOutcome& device, const std::string& time) {
      return device.busy == ParseTime(time + "us");
    });
    ++cases;
  }
  return cases;
}

TEST_CASE("the published golden cases are as the page says") {
  CHECK(CheckTable("Published golden cases") == 5);
}

TEST_CASE("the worked cases are as the page says") {
  CHECK(CheckTable("Worked cases") == 10);
  CHECK(CheckTable("Worked cases: channels that occupy devices") == 7);
}

}  // namespace
