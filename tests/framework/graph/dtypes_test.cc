#include "framework/graph/dtypes.h"

#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using nlohmann::json;

std::string GraphOf(const std::string& dtype) {
  return R"({"format": "emplace-graph", "version": 1, "name": "g", "ops": [],
             "tensors": [{"id": 0, "name": "x", "bytes": 2, "dtype": ")" +
         dtype + "\"}]}";
}

TEST_CASE("the element types are those of the Python importers") {
  const json shared = json::parse(ReadFile(SourceDir() / "tests" / "golden" / "graph_doubts.json"));
  std::set<std::string> names;
  for (const Dtype& dtype : Dtypes()) {
    const std::string name(dtype.name);
    CAPTURE(name);
    REQUIRE(shared["dtypes"].contains(name));
    names.insert(name);
    CHECK(shared["dtypes"][name]["bits"] == dtype.bits);
    std::set<std::string> aliases;
    for (const std::string_view alias : dtype.aliases) {
      aliases.emplace(alias);
      CHECK(DtypeByName(alias) == &dtype);
    }
    CHECK(json(aliases) == json(shared["dtypes"][name]["aliases"].get<std::set<std::string>>()));
  }
  CHECK(names.size() == shared["dtypes"].size());
  for (const auto& [text, name] : shared["spellings"].items()) {
    CAPTURE(text);
    const Dtype* found = DtypeByName(text);
    if (name.is_null() || text.empty()) {
      CHECK(found == nullptr);
    } else {
      REQUIRE(found != nullptr);
      CHECK(found->name == name.get<std::string>());
    }
  }
}

TEST_CASE("a graph file may use a framework's name of an element type, and no other") {
  for (const char* half : {"f16", "float16", "torch.float16", "half", "DT_HALF"}) {
    CHECK(ParseGraph(GraphOf(half), "g.json").tensor(0).dtype == "f16");
  }
  CHECK(ParseGraph(GraphOf(""), "g.json").tensor(0).dtype == "");
  const std::string message =
      MessageOf<InputError>([] { ParseGraph(GraphOf("flaot16"), "g.json"); });
  CHECK(
      message.starts_with("g.json: tensors[0] \"x\": dtype: unknown element type \"flaot16\"; "
                          "did you mean \"float16\"? choices: f64, f32, bf16, f16, f8,"));
}

}  // namespace
