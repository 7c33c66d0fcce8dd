
#include <string>

#include <doctest/doctest.h>

#include "framework/base/file.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::SourceDir;
using testing::TempDir;

// What is read from a file of this text.
std::string SourceOf(const std::string& text, const std::string& name = "graph.json") {
  const TempDir folder;
  WriteFileAtomically(folder / name, text);
  return ReadGraphSource(folder / name);
}

TEST_CASE("framework, model and batch of the source, in this order") {
  const std::string text =
      R"({"format": "emplace-graph", "version": 1, "name": "g",
          "source": {"batch": 32, "exporter": "x", "model": "inception_v3", "framework": "torch 2.5"},
          "tensors": [], "ops": []})";
  CHECK(SourceOf(text) == "torch 2.5, inception_v3, batch 32");
  CHECK(SourceOf(text, "graph.json.gz") == "torch 2.5, inception_v3, batch 32");
}

TEST_CASE("what the source does not tell is left out") {
  CHECK(SourceOf(R"({"source": {"model": "m"}, "ops": []})") == "m");
  CHECK(SourceOf(R"({"source": {"batch": [2, 3]}})") == "batch [2,3]");
  CHECK(SourceOf(R"({"source": {}, "ops": []})") == "");
  CHECK(SourceOf(R"({"source": "by hand", "ops": []})") == "");
  CHECK(SourceOf(R"({"ops": [{"source": {"model": "m"}}]})") == "");
}

TEST_CASE("only the head of the file counts") {
  const std::string source = R"("source": {"framework": "f", "model": "m"})";
  const std::string filler = R"("name": ")" + std::string(60'000, 'x') + "\"";
  const std::string much = R"("ops": [")" + std::string(300'000, 'x') + "\"]";
  CHECK(SourceOf("{" + source + ", " + much + "}") == "f, m");
  CHECK(SourceOf("{" + filler + ", " + source + ", " + much + "}") == "f, m");
  CHECK(SourceOf("{" + much + ", " + source + "}") == "");
  CHECK(SourceOf("{" + source + ", and this is no JSON") == "f, m");
}

TEST_CASE("a source that the head cuts off is not told in part") {
  const std::string cut = R"({"source": {"framework": "f", "model": ")" + std::string(70'000, 'x');
  CHECK(SourceOf(cut + "\"}}") == "");
}

TEST_CASE("what cannot be read has no source") {
  const TempDir folder;
  CHECK(ReadGraphSource(folder / "missing.json") == "");
  CHECK(ReadGraphSource(folder.path()) == "");
  CHECK(SourceOf("") == "");
  CHECK(SourceOf("[1, 2]") == "");
  CHECK(SourceOf("\x1f\x8b garbage") == "");
}

TEST_CASE("a file that was written by us") {
  const TempDir folder;
  WriteGraph(Graph("g", {}, {}, R"({"framework":"jax","batch":1})"), folder / "g.json.gz");
  CHECK(ReadGraphSource(folder / "g.json.gz") == "jax, batch 1");
  CHECK(ReadGraphSource(SourceDir() / "configs/graphs/inception_v3.json.gz").ends_with("batch 32"));
}

}  // namespace
}  // namespace emplace
