#include "framework/graph/graph_io.h"
#include "tests/fuzz/gzip.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/targets.h"

namespace emplace::fuzz {
namespace {

void ReadGraphText(const std::string& input) {
  const Graph graph = ParseGraph(input, "fuzz.json", [](const std::string&) {});
  const std::string text = FormatGraph(graph);
  Promise(FormatGraph(ParseGraph(text, "written.json")) == text,
          "a graph is written and reads back equal");
}

void ReadGraphFile(const std::string& input) {
  const MemoryFile file(input);
  ReadGraphSource(file.path());
  ReadGraph(file.path());
}

// One op, twice the smallest thing that a gzip file can hold.
std::vector<std::string> GzipSeeds() {
  const std::string graph =
      R"({"format":"emplace-graph","version":1,"name":"g","source":{"framework":"torch","batch":1},)"
      R"("tensors":[{"id":0,"bytes":4,"shape":[1],"dtype":"f32"}],"ops":[{"id":0,"name":"a",)"
      R"("kind":"k","inputs":[],"outputs":[0],"flops":3}]})";
  return {Gzip(graph, 9), Gzip(graph, 0), Gzip(graph.substr(0, 50)) + Gzip(graph.substr(50))};
}

}  // namespace

constinit const FuzzTarget kGraphTarget =
    {"graph", "emplace-graph, JSON", ReadGraphText, MutateJson, nullptr, 16384};
constinit const FuzzTarget kGraphGzipTarget =
    {"graph_gzip", "the same in a gzip file", ReadGraphFile, MutateGzip, GzipSeeds, 8192};

}  // namespace emplace::fuzz
