#pragma once

// Two families of two graphs to train on and two others, and a small experiment over them.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

namespace emplace::testing {

struct GeneralizeFiles {
  TempDir folder;

  GeneralizeFiles() {
    WriteText(folder / "c.yaml", ClusterYaml());
    for (const std::string family : {"a", "b"}) {
      for (int i = 0; i < 4; ++i) {
        WriteGraph(fmt::format("{}{}", family, i), 10 + 3 * i + (family == "b" ? 20 : 0));
      }
      WriteFamily(family);
    }
    WriteText(folder / "gen.yaml",
              "families: [a.yaml, b.yaml]\n"
              "train:\n"
              "  - {name: placeto, label: gnn, training_updates: 3, features: {devices: one_hot}}\n"
              "  - {name: seq2seq, label: rnn, training_updates: 2, hidden: 8}\n"
              "test:\n"
              "  - {name: placeto, label: zero_shot, policy: gnn, updates: 0}\n"
              "  - {name: placeto, label: fine_tuned, policy: gnn, updates: 1}\n"
              "  - {name: seq2seq, label: rnn_zero_shot, policy: rnn, updates: 0}\n"
              "  - {name: random, evaluations: 5}\n"
              "  - single_gpu\n"
              "seeds: 0:2\n"
              "jobs: 1\n");
  }
  void WriteGraph(const std::string& name, int num_ops) const {
    std::string graph = LayeredJson(num_ops);
    graph.replace(graph.find("small"), 5, name);
    WriteText(folder / (name + ".json"), graph);
  }
  void WriteFamily(const std::string& name, const std::string& more = "") const {
    WriteText(folder / (name + ".yaml"),
              fmt::format("name: {0}\ncluster: c.yaml\ntrain: [{0}0.json, {0}1.json]\n"
                          "test: [{0}2.json, {0}3.json]\n{1}",
                          name,
                          more));
  }
  ProcessResult Run(std::vector<std::string> more, ProcessOptions options = {}) const {
    std::vector<std::string> arguments = {"generalize", "gen.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    options.folder = folder.path();
    return RunEmplace(arguments, options);
  }
};

}  // namespace emplace::testing
