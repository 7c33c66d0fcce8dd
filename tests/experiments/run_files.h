#pragma once

#include <string>
#include <vector>

#include "framework/base/json.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

namespace emplace::testing {

/** A folder with a graph, a cluster and the run config small.yaml: five agents, two seeds, 300
 * evaluations. */
struct RunFiles {
  TempDir folder;

  explicit RunFiles(const std::string& memory = "1GiB") {
    WriteText(folder / "g.json", LayeredJson(60));
    WriteText(folder / "c.yaml", ClusterYaml(memory));
    WriteText(folder / "small.yaml",
              "graph: g.json\ncluster: c.yaml\n"
              "agents: [single_gpu, single_cpu, heft, random, hill_climb]\n"
              "seeds: \"0:2\"\nbudget: {evaluations: 300, seconds: none}\n");
  }
  ProcessResult Run(std::vector<std::string> more, ProcessOptions options = {}) const {
    std::vector<std::string> arguments = {"run", "small.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    options.folder = folder.path();
    return RunEmplace(arguments, options);
  }
};

/** Returns the row of an agent in the table of `emplace run --json`; null if there is none. */
inline const Json* FindAgent(const Json& table, const std::string& name) {
  for (const Json& row : table["agents"]) {
    if (row["agent"] == name) return &row;
  }
  return nullptr;
}

}  // namespace emplace::testing
