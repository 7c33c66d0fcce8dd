#include "experiments/console/menu.h"

#include <cstdlib>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A configs folder of our own for the time of a test.
struct Configs {
  TempDir folder;
  Configs() {
    std::filesystem::create_directories(folder / "graphs");
    std::filesystem::create_directories(folder / "clusters");
    WriteText(folder / "graphs/resnet.json.gz", "");
    WriteText(folder / "graphs/bert.json", "");
    WriteText(folder / "graphs/README.md", "");
    WriteText(folder / "clusters/box.yaml", "# A box.\nname: box\n");
    WriteText(folder / "clusters/bare.yaml", "name: bare\n");
    setenv("EMPLACE_CONFIGS", folder.path().c_str(), 1);
  }
  ~Configs() { unsetenv("EMPLACE_CONFIGS"); }
};

TEST_CASE("names are files without extension; other files are none") {
  const Configs configs;
  CHECK(MenuNames(GraphMenu()) == std::vector<std::string>{"bert", "resnet"});
  CHECK(MenuNames(ClusterMenu()) == std::vector<std::string>{"bare", "box"});
  CHECK(MenuNames(ExpertRulesMenu()).empty());
  CHECK(ResolveMenu(GraphMenu(), "resnet", "here") == configs.folder / "graphs/resnet.json.gz");
  CHECK(ResolveMenu(GraphMenu(), "bert", "here") == configs.folder / "graphs/bert.json");
  for (const std::string& name : {std::string(), std::string("bert.json\0", 10)}) {
    CHECK_THROWS_AS(ResolveMenu(GraphMenu(), name, "here"), InputError);
  }
  CHECK(MessageOf<InputError>([] { ResolveMenu(GraphMenu(), "bart", "run.yaml:1:8"); }) ==
        "run.yaml:1:8: unknown graph \"bart\"; did you mean \"bert\"? choices: bert, resnet");
}

TEST_CASE("a slash or an extension makes a path: here first, then beside the config") {
  const TempDir beside;
  WriteText(beside / "mine.json", "{}");
  CHECK(ResolveMenu(GraphMenu(), "mine.json", "here", beside.path()) == beside / "mine.json");
  CHECK(ResolveMenu(GraphMenu(), "./none.json", "here", beside.path()) == "./none.json");
  CHECK(ResolveMenu(GraphMenu(), "some/where", "here") == "some/where");
  const std::string long_path = std::string(5000, 'x') + "/y";  // more than systems take
  CHECK(ResolveMenu(GraphMenu(), long_path, "here", beside.path()) == long_path);
  CHECK(ResolveMenu(ClusterMenu(), "box.yaml", "here") == "box.yaml");
}

TEST_CASE(
    "a run is a path, a name in the folder, or a problem; other files of problems/ are none") {
  const Configs configs;
  std::filesystem::create_directories(configs.folder / "problems");
  WriteText(configs.folder / "quick.yaml", "graph: bert\n");
  WriteText(configs.folder / "problems/small.yaml", "graph: bert\ncluster: box\nagents: [heft]\n");
  WriteText(configs.folder / "problems/small.certificate.yaml", "optimum_ns: 3\n");
  WriteText(configs.folder / "problems/box.yaml", "name: box\ndevices: []\n");
  CHECK(ProblemNames() == std::vector<std::string>{"small"});
  CHECK(ResolveRun("quick", "run") == configs.folder / "quick.yaml");
  CHECK(ResolveRun("small", "run") == configs.folder / "problems/small.yaml");
  CHECK(ResolveRun("my/own.yaml", "run") == "my/own.yaml");
  CHECK(MessageOf<InputError>([] { ResolveRun("smal", "run"); }) ==
        "run: unknown run config \"smal\"; did you mean \"small\"? choices: quick, small");
  CHECK_THROWS_AS(ResolveRun("box", "run"), InputError);
}

TEST_CASE("sweeps are those of sweeps/ and of papers/, where configs of one run lie, too") {
  const Configs configs;
  std::filesystem::create_directories(configs.folder / "sweeps");
  std::filesystem::create_directories(configs.folder / "papers");
  WriteText(configs.folder / "sweeps/quick.yaml", "base: {graph: bert}\n");
  WriteText(configs.folder / "sweeps/both.yaml", "grid: {}\n");
  WriteText(configs.folder / "papers/both.yaml", "grid: {}\n");
  WriteText(configs.folder / "papers/icml.yaml", "overrides: []\n");
  WriteText(configs.folder / "papers/icml_nmt.yaml", "graph: bert\n");
  CHECK(SweepNames() == std::vector<std::string>{"both", "icml", "quick"});
  CHECK(ResolveSweep("icml", "here") == configs.folder / "papers/icml.yaml");
  CHECK(ResolveSweep("both", "here") == configs.folder / "sweeps/both.yaml");
  CHECK(ResolveSweep("my/own.yaml", "here") == "my/own.yaml");
  CHECK(MessageOf<InputError>([] {
          ResolveSweep("icml_nmt", "here");
        }).find("here: unknown sweep \"icml_nmt\"") == 0);
  CHECK_FALSE(IsSweepConfig(ConfigNode::FromString("[base]", "here")));
}

TEST_CASE("the first comment of a file is its sentence") {
  const Configs configs;
  CHECK(FirstComment(configs.folder / "clusters/box.yaml") == "A box.");
  CHECK(FirstComment(configs.folder / "clusters/bare.yaml") == "");
  CHECK(FirstComment(configs.folder / "none.yaml") == "");
  const auto comment = [&](const std::string& text) {
    WriteText(configs.folder / "some.yaml", text);
    return FirstComment(configs.folder / "some.yaml");
  };
  CHECK(comment("# No end\nname: x\n") == "No end");
  CHECK(comment("# No end\n# [V] looked up.\n") == "No end");
  CHECK(comment("#\n# Two lines of\n# one sentence.\n# More.\n") == "Two lines of one sentence.");
  CHECK(comment("# One. Two.\n# Three.\n") == "One. Two.");
  CHECK(comment("# One, by A et al. 2017. Two is\n# cut.\n") == "One, by A et al. 2017.");
}

}  // namespace
