#pragma once

// The commands of the program. Each adds itself to the command line and, once that is parsed,
// leaves in `action` what is to be done. A new command: one function here, one line in program.cc.

#include <functional>

namespace CLI {
class App;
}

namespace emplace {

/// Does the work; returns the exit code.
using Action = std::function<int()>;

void AddRunCommand(CLI::App& app, Action& action);
void AddSweepCommand(CLI::App& app, Action& action);
void AddTableCommand(CLI::App& app, Action& action);
void AddReportCommand(CLI::App& app, Action& action);
void AddGeneralizeCommand(CLI::App& app, Action& action);
void AddSimulateCommand(CLI::App& app, Action& action);
void AddGraphCommand(CLI::App& app, Action& action);
void AddListCommand(CLI::App& app, Action& action);
void AddProfileCommand(CLI::App& app, Action& action);
void AddVerifyCommand(CLI::App& app, Action& action);
void AddExportCommand(CLI::App& app, Action& action);
void AddValidateCommand(CLI::App& app, Action& action);

}  // namespace emplace
