#include "framework/graph/graph_doubts.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "framework/base/file.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using nlohmann::json;

// Of the Python importers, too: scripts/emplace/tests/test_graph_doubts.py.
json SharedCases() {
  return json::parse(ReadFile(SourceDir() / "tests" / "golden" / "graph_doubts.json"));
}

TEST_CASE("each plausible mistake is named, and nothing else") {
  const json shared = SharedCases();
  int with_doubts = 0;
  for (const json& entry : shared["cases"]) {
    CAPTURE(entry["case"].get<std::string>());
    json changed = shared["graph"];
    for (const auto& [at, value] : entry["change"].items()) {
      changed[json::json_pointer(at)] = value;
    }
    const Graph graph = ParseGraph(changed.dump(), "g.json");
    std::vector<std::string> known{"cpu", "gpu", "network"};
    for (const json& kind : entry.value("device_kinds", json::array())) known.push_back(kind);
    std::vector<std::string> found = FindDoubts(graph);
    for (std::string& line : FindUnknownDeviceKinds(graph, known)) {
      found.push_back(std::move(line));
    }
    if (entry.contains("devices")) {
      const auto devices = entry["devices"].get<std::vector<std::string>>();
      std::ranges::move(FindUnmatchedDevices(graph, devices), std::back_inserter(found));
    }
    const auto expected = entry["doubts"].get<std::vector<std::string>>();
    CHECK(fmt::format("{}", fmt::join(found, "\n")) ==
          fmt::format("{}", fmt::join(expected, "\n")));
    with_doubts += !expected.empty();
  }
  CHECK(with_doubts > 15);
}

TEST_CASE("graphs that frameworks made give no cause for a doubt" *
          doctest::skip(kUnderSanitizers)) {
  int graphs = 0;
  for (const char* folder : {"configs/graphs", "configs/problems"}) {
    for (const auto& entry : std::filesystem::directory_iterator(SourceDir() / folder)) {
      const std::string file = entry.path().string();
      if (!file.ends_with(".json.gz") || file.ends_with(".placement.json.gz")) continue;
      CAPTURE(file);
      ++graphs;
      const Graph graph = ReadGraph(entry.path());
      CHECK(fmt::format("{}", fmt::join(FindDoubts(graph), "\n")) == "");
      CHECK(FindUnknownDeviceKinds(graph, std::vector<std::string>{"cpu", "gpu"}).empty());
    }
  }
  CHECK(graphs > 15);
}

}  // namespace
