#include "experiments/program.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/provenance/provenance.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr int kRunFailed = 1, kInputWrong = 2;

int Report(int code, const std::string& message) {
  std::fflush(stdout);
  std::fputs(fmt::format("emplace: {}\n", message).c_str(), stderr);
  return code;
}

// Refuses the commands that only the `emplace` of the Python package has.
void RefusePythonCommands(int argc, const char* const* argv) {
  for (const std::string_view name : {"benchmark", "costs", "import", "place", "tune"}) {
    const int at = argc > 2 && argv[1] == std::string_view("help") ? 2 : 1;
    if (argc <= at || argv[at] != name) continue;
    const bool needs_wheel = name == "benchmark" || name == "tune";  // of the compiled part
    throw InputError(fmt::format(
        "`emplace {}` is a command of the Python package: pip install {}",
        name,
        needs_wheel ? fmt::format("'./scripts/emplace[{}]'", name)
                    : fmt::format("./scripts/emplace, or from the source tree "
                                  "PYTHONPATH=scripts/emplace/src python3 -m emplace {}",
                                  name)));
  }
}

int ParseAndRun(int argc, const char* const* argv) {
  RefusePythonCommands(argc, argv);
  CommandLine line(
      "emplace", "Finds where every operation of a neural network should run.", VersionText);
  Command program = line.program();
  program.Footer("Exit codes and environment variables: `emplace help`.");  // of each help
  AddRunCommand(program);
  AddSweepCommand(program);
  AddSweepWorkerCommand(program);
  AddTableCommand(program);
  AddReportCommand(program);
  AddCertifyCommand(program);
  AddStressCommand(program);
  AddGeneralizeCommand(program);
  AddSimulateCommand(program);
  AddPlanCommand(program);
  AddGraphCommand(program);
  AddClusterCommand(program);
  AddListCommand(program);
  AddProfileCommand(program, fmt::format("emplace {}", fmt::join(argv + 1, argv + argc, " ")));
  AddVerifyCommand(program);
  AddExportCommand(program);
  AddValidateCommand(program);
  AddCompletionCommand(program);
  AddManualCommand(program);
  program.Footer(
      "Exit codes: 0 done; 1 the run failed; 2 the input is wrong.\n"
      "The Python package adds `benchmark`, `import` (a model as a graph), `costs` (traces as "
      "measured costs),\n"
      "`place` (a model to a map) and `tune` (settings of an agent).\n"
      "$EMPLACE_CONFIGS names another folder of clusters, graphs and device kinds,\n"
      "$EMPLACE_CUDA_MODULE another file of the CUDA module (libemplace_cuda.so),\n"
      "$EMPLACE_MPI_MODULE another file of the MPI module (libemplace_mpi.so).\n"
      "$EMPLACE_PYTHON the Python program with the package highspy, for bounds of periods by "
      "HiGHS;\n"
      "$EMPLACE_RESULTS_LIMIT=2 doubles the limits of reading a results file: 60 s and 4 GiB.\n"
      "$COLUMNS is the width of tables and help texts, instead of the terminal's;\n"
      "$NO_COLOR and TERM=dumb turn bold text off.");

  const Request request = line.Parse(argc, argv);
  if (request.action == nullptr) {
    Print(request.text);
    FlushOutput();
    return 0;
  }
  const int code = request.action();
  FlushOutput();
  return code;
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  try {
    return ParseAndRun(argc, argv);
  } catch (const InputError& error) {
    return Report(kInputWrong, error.what());
  } catch (const RunError& error) {
    return Report(kRunFailed, error.what());
  } catch (const std::filesystem::filesystem_error& error) {  // e.g. no permission
    return Report(kRunFailed,
                  fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return Report(kRunFailed, "out of memory");
  } catch (const std::exception& error) {
    return Report(kRunFailed, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace emplace
