#pragma once

// Small input files for the program, and what its tests ask of an answer.

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace emplace::testing {

inline void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// {"format": ..., "tensors": [...], "ops": [...]}
inline std::string GraphJson(const std::string& tensors, const std::string& ops) {
  return R"({"format": "emplace-graph", "version": 1, "name": "small", "tensors": [)" + tensors +
         R"(], "ops": [)" + ops + "]}";
}

/// a -> b -> d, a -> c -> d with measured costs for the kinds g and c; every tensor 1 MB.
inline std::string DiamondJson() {
  return GraphJson(
      R"({"id": 0, "bytes": 1000000}, {"id": 1, "bytes": 1000000}, {"id": 2, "bytes": 1000000},
         {"id": 3, "bytes": 1000000})",
      R"({"id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0],
          "cost_ns": {"g": 10000, "c": 50000}},
         {"id": 1, "name": "b", "kind": "k", "inputs": [0], "outputs": [1],
          "cost_ns": {"g": 2000000, "c": 8000000}},
         {"id": 2, "name": "c", "kind": "k", "inputs": [0], "outputs": [2],
          "cost_ns": {"g": 2000000, "c": 8000000}},
         {"id": 3, "name": "d", "kind": "k", "inputs": [1, 2], "outputs": [3],
          "cost_ns": {"g": 10000, "c": 50000}})");
}

/// One CPU, two GPUs, a private channel for each ordered pair, 1 GB/s. @param memory  of each GPU
inline std::string ClusterYaml(const std::string& memory = "1GiB") {
  return "name: inline\n"
         "device_kinds:\n"
         "  c: {class: cpu}\n"
         "  g: {class: gpu}\n"
         "devices:\n"
         "  - {name: \"cpu:0\", kind: c, memory: 8GiB}\n"
         "  - {name: \"gpu:0\", kind: g, memory: " +
         memory +
         "}\n"
         "  - {name: \"gpu:1\", kind: g, memory: " +
         memory +
         "}\n"
         "all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}\n";
}

inline std::string PlacementJson(const std::string& devices) {
  return R"({"format": "emplace-placement", "version": 1, "graph": "small", "cluster": "inline",
             "devices": {)" +
         devices + "}}";
}

/// The program must refuse: this exit code, nothing on stdout, one line on stderr that begins with
/// "emplace: " and holds all fragments.
inline void CheckRefused(const ProcessResult& result,
                         int exit_code,
                         const std::vector<std::string>& fragments) {
  CHECK(result.exit_code == exit_code);
  CHECK(result.out == "");
  CHECK(result.err.substr(0, 9) == "emplace: ");
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.err.size() < 2000);
  for (const std::string& fragment : fragments) {
    CAPTURE(result.err);
    CAPTURE(fragment);
    CHECK(result.err.find(fragment) != std::string::npos);
  }
}

}  // namespace emplace::testing
