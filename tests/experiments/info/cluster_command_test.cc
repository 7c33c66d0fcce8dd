#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("a cluster by name and by path, for people and for programs") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  WriteText(folder / "c.yaml", ClusterYaml());
  const ProcessResult named = RunEmplace({"cluster", "info", "4xk80"}, here);
  CHECK(named.exit_code == 0);
  CHECK(named.err == "");
  CHECK(Contains(named.out, "4xk80: 5 devices, 5 channels\n"));
  CHECK(Contains(named.out, "\nk80: f32 2.8, f64 0.93 TFLOP/s; memory 240 GB/s"));
  CHECK(Contains(named.out, "gpu:3          6      7      7     10      .\n"));
  const ProcessResult file = RunEmplace({"cluster", "info", "c.yaml", "--json"}, here);
  CHECK(file.exit_code == 0);
  CHECK(nlohmann::json::parse(file.out)["routes"].size() == 6);
  CheckRefused(RunEmplace({"cluster", "info", "4xk8"}, here), 2, {"unknown cluster", "\"4xk80\"?"});
  CheckRefused(RunEmplace({"cluster", "info", "none.yaml"}, here), 2, {"none.yaml"});
}

}  // namespace
