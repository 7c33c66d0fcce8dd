#include <memory>
#include <string>
#include <vector>

#include "experiments/commands.h"
#include "experiments/console/completion.h"
#include "experiments/console/man_page.h"
#include "experiments/console/output.h"
#include "experiments/info/shelves.h"
#include "experiments/provenance/provenance.h"

namespace emplace {
namespace {

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> words;
};

int PrintCompletion(const CompletionOptions& options, const Command& program) {
  if (options.shell != "words") {
    Print(CompletionScript(options.shell));
    return 0;
  }
  for (const std::string& choice : Complete(program.Help(), options.words, NamesOnShelf)) {
    Print(choice + "\n");
  }
  return 0;
}

}  // namespace

void AddCompletionCommand(Command program) {
  auto options = std::make_shared<CompletionOptions>();
  Command command = program.AddCommand(
      "completion", "Print a script that completes commands in bash, zsh or fish");
  command.Add("shell", options->shell, "bash, zsh or fish; the scripts call `words`").Required();
  command.Add(
      "words", options->words, "the words of the command line to complete, after `words --`");
  command.Footer(
      "bash: eval \"$(emplace completion bash)\" in ~/.bashrc; zsh: the same in ~/.zshrc, after\n"
      "compinit; fish: emplace completion fish > ~/.config/fish/completions/emplace.fish");
  command.Does([options, program] { return PrintCompletion(*options, program); });
}

void AddManualCommand(Command program) {
  Command command =
      program.AddCommand("manual", "Print the manual page: `emplace manual | man -l -`");
  command.Does([program] {
    Print(ManPage(program.Help(), VersionText()));
    return 0;
  });
}

}  // namespace emplace
