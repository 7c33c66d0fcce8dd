#include "agents/registry.h"
#include "experiments/run/run_config.h"
#include "experiments/sweep/sweep_config.h"
#include "experiments/table/table_layout.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/targets.h"

namespace emplace::fuzz {
namespace {

void ReadRunText(const std::string& input) {
  const RunPlan plan =
      MakeRunPlan(ConfigNode::FromString(input, "fuzz.yaml"), "fuzz", "/nowhere", AllAgents());
  // What is stored beside the results is read again by other commands.
  const std::string text = plan.ResolvedYaml();
  Promise(MakeRunPlan(ConfigNode::FromString(text, "resolved"), "fuzz", "/nowhere", AllAgents())
                  .ResolvedYaml() == text,
          "a resolved config reads back equal");
}

void ReadSweepText(const std::string& input) {
  const MemoryFile file(input);
  ReadSweepPlan(file.path(), {}, AllAgents());
}

void ReadLayoutText(const std::string& input) {
  const TableLayout layout = ReadTableLayout(ConfigNode::FromString(input, "fuzz.yaml"));
  Promise(ReadTableLayout(ConfigNode::FromString(layout.yaml, "written.yaml")).yaml == layout.yaml,
          "a layout is written and reads back equal");
}

}  // namespace

constinit const FuzzTarget kRunConfigTarget =
    {"run_config", "a config of emplace run, YAML", ReadRunText, MutateYaml, nullptr, 4096};
constinit const FuzzTarget kSweepConfigTarget =
    {"sweep_config", "a config of emplace sweep, YAML", ReadSweepText, MutateYaml, nullptr, 4096};
constinit const FuzzTarget kTableLayoutTarget =
    {"table_layout", "a layout of emplace table, YAML", ReadLayoutText, MutateYaml, nullptr, 8192};

}  // namespace emplace::fuzz
