#include "tests/agents/example/coordinate.h"

#include <algorithm>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/file.h"
#include "tests/support/agent_contract.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// The entry that agents/registry.cc would make.
AgentEntry CoordinateEntry() {
  using Config = CoordinateAgent::Config;
  AgentEntry entry;
  entry.name = "coordinate";
  entry.make = [](const AgentContext& context, const ConfigNode& settings) {
    return std::make_unique<CoordinateAgent>(context, ReadFields<Config>(settings));
  };
  entry.describe_settings = [] { return DescribeFields<Config>(); };
  entry.resolve_settings = [](const ConfigNode& settings) {
    return WriteFields(ReadFields<Config>(settings));
  };
  return entry;
}

TEST_CASE("the agent of the page keeps the contract") {
  CheckAgentContract(CoordinateEntry());
}

TEST_CASE("the page shows this agent to the letter") {
  const std::vector<std::string> blocks = FencedBlocks(ReadPage("agents/WRITING.md"), "cpp");
  for (const char* file : {"coordinate.h", "coordinate.cc"}) {
    CAPTURE(file);
    const std::string source =
        std::regex_replace(ReadFile(SourceDir() / "tests/agents/example" / file),
                           std::regex("tests/agents/example/"),
                           "agents/coordinate/");
    CHECK(std::ranges::find(blocks, source) != blocks.end());
  }
}

// Never comes to its end; evaluates in its first `evaluations` steps.
class EndlessAgent final : public Agent {
 public:
  EndlessAgent(std::shared_ptr<const Problem> problem, int evaluations)
      : problem_(std::move(problem)), left_(evaluations) {}
  void Step(Evaluator& evaluator) override {
    if (left_-- > 0)
      evaluator.Evaluate(Placement{std::vector<DeviceIndex>(problem_->num_groups())});
  }
  void VisitState(StateVisitor&) override {}

 private:
  std::shared_ptr<const Problem> problem_;
  int left_;
};

TEST_CASE("an agent without an end fails the contract with the reason") {
  ProblemBuilder builder;
  builder.Device("cpu:0");
  builder.Op("op", {1});
  const auto problem = builder.Build();
  EndlessAgent idle(problem, 0), slow(problem, 3);
  CHECK_THROWS_WITH_AS(
      RunAgent(idle, problem, 5), "10000 steps without an evaluation", std::runtime_error);
  CHECK_THROWS_WITH_AS(
      RunAgent(slow, problem, 5),
      "10000 steps with 3 of 5 evaluations, and Finished() is false after each: a step "
      "evaluates at least one placement or brings the end nearer",
      std::runtime_error);
}

}  // namespace
