#pragma once

// The commands of the program. Each function adds a command below `program`, with its arguments and
// its action. A new command needs one function here and one line in program.cc.

#include "experiments/console/command_line.h"

namespace emplace {

void AddRunCommand(Command program);
void AddSweepCommand(Command program);
void AddSweepWorkerCommand(Command program);
void AddTableCommand(Command program);
void AddReportCommand(Command program);
void AddGeneralizeCommand(Command program);
void AddSimulateCommand(Command program);
void AddPlanCommand(Command program);
void AddGraphCommand(Command program);
void AddClusterCommand(Command program);
void AddListCommand(Command program);
/// @param command_line  of this process, for the cost file
void AddProfileCommand(Command program, const std::string& command_line);
void AddVerifyCommand(Command program);
void AddExportCommand(Command program);
void AddValidateCommand(Command program);
void AddCertifyCommand(Command program);
void AddStressCommand(Command program);
void AddCompletionCommand(Command program);
void AddManualCommand(Command program);

}  // namespace emplace
