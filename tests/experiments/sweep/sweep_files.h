#pragma once

// A small sweep for the program, and what its folder holds.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

namespace emplace::testing {

/// 2 graphs x (heft once, 2 agents with 2 seeds): 10 runs in a folder of their own.
struct SweepFiles {
  TempDir folder;

  explicit SweepFiles(int evaluations = 100, double checkpoint_seconds = 30) {
    WriteText(folder / "g.json", LayeredJson(15));
    WriteText(folder / "h.json", LayeredJson(20));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "s.yaml",
              fmt::format("base:\n"
                          "  cluster: c.yaml\n"
                          "  agents: [heft, hill_climb, seq2seq]\n"
                          "  seeds: 0:2\n"
                          "  budget: {{evaluations: {}, seconds: none}}\n"
                          "grid: {{graph: [g.json, h.json]}}\n"
                          "scales: {{small: {{budget.evaluations: 5}}}}\n"
                          "checkpoint_seconds: {}\n",
                          evaluations,
                          checkpoint_seconds));
  }

  static constexpr int kRuns = 10;

  ProcessResult Run(std::vector<std::string> more, ProcessOptions options = {}) const {
    std::vector<std::string> arguments = {"sweep", "s.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    options.folder = folder.path();
    return RunEmplace(arguments, options);
  }
};

/// What the files of the runs hold but for times, by file name.
inline std::map<std::string, std::vector<std::string>> RunTexts(
    const std::filesystem::path& sweep) {
  std::map<std::string, std::vector<std::string>> texts;
  for (const auto& entry : std::filesystem::directory_iterator(sweep / "runs")) {
    std::vector<std::string>& text = texts[entry.path().filename().string()];
    for (const char* group : {"/agents", "/problem"}) {
      const std::vector<std::string> part = Hdf5Text(entry.path(), group);
      text.insert(text.end(), part.begin(), part.end());
    }
  }
  return texts;
}

}  // namespace emplace::testing
