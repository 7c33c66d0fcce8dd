#include "experiments/console/completion.h"

#include <doctest/doctest.h>

#include "experiments/console/command_line.h"
#include "framework/base/error.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using Names = std::vector<std::string>;

// The choices in a program with the commands `draw FILE --of GRAPH --size N --json` and `graph
// info|check FILE`.
Names ChoicesOf(const Names& words) {
  std::string file, graph;
  int size = 0;
  bool json = false;
  CommandLine line("painter", "Draws", [] { return std::string("1"); });
  Command program = line.program();
  Command draw = program.AddCommand("draw", "Draws a graph");
  draw.Add("file", file, "picture");
  draw.Add("-g,--of", graph, "a name of `emplace list graphs` or a path");
  draw.Add("--size", size, "in pixels");
  draw.AddFlag("--json", json, "as JSON");
  Command graphs = program.AddCommand("graph", "Reads a graph");
  graphs.AddCommand("info", "Describes it").Add("file", graph, "one of `emplace list graphs`");
  graphs.AddCommand("check", "Checks it");
  return Complete(program.Help(), words, [](const std::string& what) {
    return what == "graphs" ? Names{"nmt", "rnnlm"} : Names{};
  });
}

TEST_CASE("completion: commands, at every level and after help") {
  CHECK(ChoicesOf({""}) == Names{"help", "draw", "graph"});
  CHECK(ChoicesOf({"d"}) == Names{"draw"});
  CHECK(ChoicesOf({"graph", ""}) == Names{"info", "check"});
  CHECK(ChoicesOf({"help", "graph", "c"}) == Names{"check"});
  CHECK(ChoicesOf({"cut", ""}) == Names{});
  CHECK(ChoicesOf({}) == Names{});
}

TEST_CASE("completion: options") {
  CHECK(ChoicesOf({"draw", "--"}) == Names{"--help", "--of", "--size", "--json"});
  CHECK(ChoicesOf({"draw", "--size", "3", "--s"}) == Names{"--size"});
  CHECK(ChoicesOf({"--v"}) == Names{"--version"});
}

TEST_CASE("completion: names of a menu, as values and as positional arguments") {
  CHECK(ChoicesOf({"draw", "--of", ""}) == Names{"nmt", "rnnlm"});
  CHECK(ChoicesOf({"draw", "--json", "-g", "r"}) == Names{"rnnlm"});
  CHECK(ChoicesOf({"graph", "info", "n"}) == Names{"nmt"});
  // No choices leave the word to the shell, which completes files.
  CHECK(ChoicesOf({"draw", ""}) == Names{});
  CHECK(ChoicesOf({"draw", "--size", ""}) == Names{});
  CHECK(ChoicesOf({"draw", "--of=nmt", ""}) == Names{});
  CHECK(ChoicesOf({"graph", "info", "nmt", ""}) == Names{});
}

TEST_CASE("completion: scripts of other shells, and shells that are not known") {
  CHECK(CompletionScript("zsh").starts_with("#compdef emplace\n"));
  CHECK(CompletionScript("fish").find("complete -c emplace") != std::string::npos);
  CHECK(testing::MessageOf<InputError>([] { CompletionScript("dash"); }) ==
        "completion: unknown shell \"dash\"; did you mean \"bash\"? choices: bash, zsh, fish");
}

}  // namespace
}  // namespace emplace
