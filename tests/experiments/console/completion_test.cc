#include "experiments/console/completion.h"

#include <doctest/doctest.h>

#include "experiments/console/command_line.h"
#include "framework/base/error.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using Words = std::vector<std::string>;

// The choices in a program with the commands `draw FILE --of GRAPH --size N --json` and `graph
// info|check FILE`.
Words ChoicesOf(const Words& words) {
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
    return what == "graphs" ? Words{"nmt", "rnnlm"} : Words{};
  });
}

TEST_CASE("completion: commands, at every level and after help") {
  CHECK(ChoicesOf({""}) == Words{"help", "draw", "graph"});
  CHECK(ChoicesOf({"d"}) == Words{"draw"});
  CHECK(ChoicesOf({"graph", ""}) == Words{"info", "check"});
  CHECK(ChoicesOf({"help", "graph", "c"}) == Words{"check"});
  CHECK(ChoicesOf({"cut", ""}) == Words{});
  CHECK(ChoicesOf({}) == Words{});
}

TEST_CASE("completion: options") {
  CHECK(ChoicesOf({"draw", "--"}) == Words{"--help", "--of", "--size", "--json"});
  CHECK(ChoicesOf({"draw", "--size", "3", "--s"}) == Words{"--size"});
  CHECK(ChoicesOf({"--v"}) == Words{"--version"});
}

TEST_CASE("completion: names of a menu, as values and as positional arguments") {
  CHECK(ChoicesOf({"draw", "--of", ""}) == Words{"nmt", "rnnlm"});
  CHECK(ChoicesOf({"draw", "--json", "-g", "r"}) == Words{"rnnlm"});
  CHECK(ChoicesOf({"graph", "info", "n"}) == Words{"nmt"});
  // No choices leave the word to the shell, which completes files.
  CHECK(ChoicesOf({"draw", ""}) == Words{});
  CHECK(ChoicesOf({"draw", "--size", ""}) == Words{});
  CHECK(ChoicesOf({"draw", "--of=nmt", ""}) == Words{});
  CHECK(ChoicesOf({"graph", "info", "nmt", ""}) == Words{});
}

TEST_CASE("completion: scripts of other shells, and shells that are not known") {
  CHECK(CompletionScript("zsh").starts_with("#compdef emplace\n"));
  CHECK(CompletionScript("fish").find("complete -c emplace") != std::string::npos);
  CHECK(testing::MessageOf<InputError>([] { CompletionScript("dash"); }) ==
        "completion: unknown shell \"dash\"; did you mean \"bash\"? choices: bash, zsh, fish");
}

}  // namespace
}  // namespace emplace
