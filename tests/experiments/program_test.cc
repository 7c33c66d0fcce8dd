#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/program_files.h"
#include "tests/support/text.h"
#include "tests/support/words.h"

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

TEST_CASE("environment variables are explained once, in the program's own help") {
  const std::string help = RunEmplace({"--help"}).out;
  for (const char* variable :
       {"$EMPLACE_CONFIGS", "$EMPLACE_CUDA_MODULE", "$EMPLACE_MPI_MODULE", "$COLUMNS"}) {
    CAPTURE(variable);
    CHECK(Contains(help, variable));
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"run"}, {"sweep"}, {"graph", "info"}, {"cluster", "info"}, {"list"}}) {
      std::vector<std::string> words = {"help"};
      words.insert(words.end(), command.begin(), command.end());
      const std::string text = RunEmplace(words).out;
      CHECK_FALSE(Contains(text, variable));
      CHECK(Contains(text, "environment variables: `emplace help`"));
    }
  }
}

TEST_CASE("a wrong command line is told in one line with the choices") {
  CheckRefused(
      RunEmplace({"simulat"}), 2, {"unknown command \"simulat\"", "did you mean \"simulate\"?"});
  for (const std::string command : {"benchmark", "costs", "import", "place", "tune"}) {
    CheckRefused(RunEmplace({command, "model.onnx", "--from", "onnx"}),
                 2,
                 {"`emplace " + command + "` is a command of the Python package: pip install"});
    CheckRefused(RunEmplace({"help", command}), 2, {"is a command of the Python package"});
  }
  CheckRefused(RunEmplace({"help", "swep"}), 2, {"did you mean \"sweep\"?", "choices:"});
  CheckRefused(RunEmplace({"tune", "x.yaml"}), 2, {"pip install './scripts/emplace[tune]'\n"});
  CheckRefused(RunEmplace({"simulate"}), 2, {"results or --placement is required"});
  CheckRefused(RunEmplace({"run", "no/such.yaml"}), 2, {"no/such.yaml"});
  CheckRefused(
      RunEmplace({"run", "quickstrt"}), 2, {"unknown run config \"quickstrt\"", "quickstart"});
  CheckRefused(
      RunEmplace({"graph", "info", "inceptoin_v3"}), 2, {"did you mean \"inception_v3\"?"});
  CheckRefused(
      RunEmplace(Words("simulate --graph x --cluster 4xk80 --placement p --semantics stack")),
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
  const auto constructive =
      nlohmann::json::parse(RunEmplace({"list", "constructive-agents", "--json"}).out);
  for (const auto& [name, sentence] : constructive.items()) CHECK(json.at(name) == sentence);
  CHECK(constructive.contains("single_gpu"));
  CHECK_FALSE(constructive.contains("random"));
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
                "agents, clusters, constructive-agents, costs, device-kinds, families, graphs, "
                "layouts, problems, sweeps"});
  CheckRefused(RunEmplace({"list", "agents", "hil_climb"}), 2, {"did you mean \"hill_climb\"?"});
}

TEST_CASE("problems are listed and run by name") {
  const ProcessResult problems = RunEmplace({"list", "problems"});
  CHECK(problems.exit_code == 0);
  CHECK(Contains(problems.out,
                 "nmt_12                 NMT contracted to 12 groups, 2 GPUs, queue semantics.\n"));
  CHECK(Contains(problems.out, "planted_40x2 "));
  for (const char* other : {"certificate", "cluster", "2k80"}) {
    CHECK_FALSE(Contains("\n" + problems.out, std::string("\n") + other));
  }
  const ProcessResult run = RunEmplace({"run", "nmt_12", "--dry-run"});
  CHECK(run.exit_code == 0);
  CHECK(Contains(run.out, "12 groups"));
}

TEST_CASE("the quickstart: constructive agents, searches and learners on 128 groups") {
  const ProcessResult run = RunEmplace({"run", "quickstart", "--dry-run"});
  CHECK(run.exit_code == 0);
  CHECK(Contains(run.out, "graph    inception_v3: 5618 ops, 128 groups\n"));
  for (const char* search : {" heft\n",
                             " simulated_annealing.seed1\n",
                             " hierarchical.seed1\n",
                             " seq2seq.seed1\n",
                             " post.seed1\n",
                             " placeto.seed1\n"}) {
    CAPTURE(search);
    CHECK(Contains(run.out, search));
  }
  CHECK(Contains(run.out, "each with a budget of 20000 evaluations or 8 s\n"));
}

TEST_CASE("every sentence of a list is complete") {
  for (const std::string menu : {"clusters", "families", "layouts", "problems", "sweeps"}) {
    const auto items = nlohmann::json::parse(RunEmplace({"list", menu, "--json"}).out);
    REQUIRE(items.size() > 0);
    for (const auto& [name, sentence] : items.items()) {
      CAPTURE(name);
      CHECK(sentence.get<std::string>().ends_with("."));
    }
  }
}

TEST_CASE("lists fit $COLUMNS") {
  const ProcessResult list = RunEmplace({"list", "sweeps"}, {.environment = {{"COLUMNS", "80"}}});
  CHECK(list.exit_code == 0);
  std::istringstream lines(list.out);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  CHECK(Contains(list.out, "\n                 "));  // a sentence goes on in its column
}

TEST_CASE("another configs folder") {
  const TempDir nothing;
  const ProcessResult costs =
      RunEmplace({"list", "costs"}, {.environment = {{"EMPLACE_CONFIGS", nothing.path()}}});
  CHECK(costs.exit_code == 0);
  CHECK(costs.out == "");
  CHECK(costs.err == "emplace: warning: " + (nothing / "costs").string() + ": no such folder\n");
  std::filesystem::create_directories(nothing / "costs");
  const ProcessResult empty =
      RunEmplace({"list", "costs"}, {.environment = {{"EMPLACE_CONFIGS", nothing.path()}}});
  CHECK(empty.err == "emplace: warning: " + (nothing / "costs").string() + ": nothing is there\n");

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

TEST_CASE("bash completes the words of a command line by the program's script") {
  const TempDir folder;
  WriteText(folder / "test.bash",
            RunEmplace({"completion", "bash"}).out +
                "complete_words() { COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); _emplace; "
                "echo \"${COMPREPLY[*]}\"; }\n"
                "complete_words emplace graph inf\n"
                "complete_words emplace simulate --cluster 4xk8\n"
                "complete_words emplace run --save\n"
                "complete_words emplace simulate --placement single_g\n");
  const ProcessResult result = RunProcess(
      {"/bin/sh",
       "-c",
       fmt::format(
           "PATH={}:$PATH bash {}", BinaryDir().string(), (folder / "test.bash").string())});
  CHECK(result.out == "info\n4xk80\n--save-policy\nsingle_gpu\n");
  CHECK(result.err == "");
}

TEST_CASE("the manual page describes every command") {
  const std::string page = RunEmplace({"manual"}).out;
  for (const char* text : {".TH EMPLACE 1", ".SS emplace run\n", ".SS emplace graph coarsen\n"})
    CHECK(Contains(page, text));
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
