#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("help and version go to stdout with exit code 0") {
  const ProcessResult help = RunEmplace({"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.err == "");
  for (const char* command :
       {"run", "simulate", "graph", "list", "profile", "verify", "validate", "certify", "stress"})
    CHECK(Contains(help.out, command));
  for (const char* command : {"sweep", "export"}) CHECK(Contains(help.out, command));
  const ProcessResult simulate = RunEmplace({"simulate", "--help"});
  CHECK(simulate.exit_code == 0);
  CHECK(Contains(simulate.out, "--count-gaps"));
  const ProcessResult version = RunEmplace({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.out.substr(0, 8) == "emplace ");
}

TEST_CASE("a wrong command line is told in one line with the choices") {
  CheckRefused(RunEmplace({}), 2, {"a command is missing", "choices:", "run", "emplace --help"});
  CheckRefused(
      RunEmplace({"simulat"}), 2, {"unknown command \"simulat\"", "did you mean \"simulate\"?"});
  CheckRefused(
      RunEmplace({"swep"}), 2, {"unknown command \"swep\"; did you mean \"sweep\"?", "choices:"});
  for (const std::string command : {"costs", "import", "place", "tune"}) {
    CheckRefused(RunEmplace({command, "model.onnx", "--from", "onnx"}),
                 2,
                 {"`emplace " + command + "` is a command of the Python package: pip install"});
  }
  CheckRefused(RunEmplace({"graph"}), 2, {"a command is missing", "info", "validate"});
  CheckRefused(
      RunEmplace({"graph", "inform"}), 2, {"unknown command \"inform\"", "did you mean \"info\"?"});
  CheckRefused(RunEmplace({"simulate", "--grap", "x"}), 2, {"--grap"});
  CheckRefused(RunEmplace({"simulate"}), 2, {"results or --placement is required"});
  CheckRefused(RunEmplace({"run"}), 2, {"config", "required"});
  CheckRefused(RunEmplace({"run", "a.yaml", "b.yaml"}), 2, {"unexpected argument \"b.yaml\""});
  CheckRefused(
      RunEmplace({"run", "a.yaml", "--sett", "x=1"}), 2, {"unknown option \"--sett\"", "--set"});
  CheckRefused(RunEmplace({"run", "no/such.yaml"}), 2, {"no/such.yaml"});
  CheckRefused(
      RunEmplace({"run", "quickstrt"}), 2, {"unknown run config \"quickstrt\"", "quickstart"});
  CheckRefused(
      RunEmplace({"graph", "info", "inceptoin_v3"}), 2, {"did you mean \"inception_v3\"?"});
  CheckRefused(RunEmplace({"simulate",
                           "--graph",
                           "inception_v3",
                           "--cluster",
                           "4xk80",
                           "--placement",
                           "p",
                           "--semantics",
                           "stack"}),
               2,
               {"--semantics", "stack", "queue, stream"});
}

TEST_CASE("lists") {
  const ProcessResult agents = RunEmplace({"list", "agents"});
  CHECK(agents.exit_code == 0);
  for (const char* name : {"etf", "heft", "hill_climb", "random", "single_gpu"}) {
    CHECK(Contains(agents.out, name));
  }
  const auto json = nlohmann::json::parse(RunEmplace({"list", "agents", "--json"}).out);
  CHECK(json.contains("simulated_annealing"));
  const ProcessResult page = RunEmplace({"list", "agents", "simulated_annealing"});
  CHECK(page.exit_code == 0);
  CHECK(Contains(page.out, "settings"));
  CHECK(Contains(page.out, "\none simulation per evaluation, linear in ops\n"));
  CHECK_FALSE(Contains(page.out, "refuses"));
  const ProcessResult square = RunEmplace({"list", "agents", "seq2seq"});
  CHECK(Contains(square.out, "\nrefuses graphs of more than 20000 groups\n"));
  CHECK(Contains(RunEmplace({"list", "clusters"}).out, "4xk80"));
  CHECK(Contains(RunEmplace({"list", "device-kinds"}).out, "k80"));
  const ProcessResult graphs = RunEmplace({"list", "graphs"});
  CHECK(Contains(graphs.out, "inception_v3"));
  CHECK(Contains(graphs.out, "batch 32"));
  CheckRefused(RunEmplace({"list", "shelves"}),
               2,
               {"unknown",
                "\"shelves\"",
                "agents, clusters, costs, device-kinds, families, graphs, layouts, sweeps"});
  CheckRefused(RunEmplace({"list", "agents", "hil_climb"}), 2, {"did you mean \"hill_climb\"?"});
}

TEST_CASE("another configs folder") {
  const TempDir folder;
  std::filesystem::create_directories(folder / "clusters");
  WriteText(folder / "clusters/mine.yaml", "# My machine.\nname: mine\n");
  const ProcessResult list =
      RunEmplace({"list", "clusters"}, {.environment = {{"EMPLACE_CONFIGS", folder.path()}}});
  CHECK(list.out == "mine  My machine.\n");
  WriteText(folder / "clusters/mine.yaml", "# A \"tab\"\there, a \\ there.\nname: mine\n");
  const ProcessResult json = RunEmplace({"list", "clusters", "--json"},
                                        {.environment = {{"EMPLACE_CONFIGS", folder.path()}}});
  CHECK(nlohmann::json::parse(json.out).at("mine") == "A \"tab\"\there, a \\ there.");
}

TEST_CASE("a full disk under stdout is a failed run") {
  for (const char* arguments : {"list agents", "list --help", "--version"}) {
    CAPTURE(arguments);
    CheckRefused(
        RunProcess(
            {"/bin/sh",
             "-c",
             fmt::format("{} {} > /dev/full", (BinaryDir() / "emplace").string(), arguments)}),
        1,
        {"standard output"});
  }
}

}  // namespace
