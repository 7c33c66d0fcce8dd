#pragma once

namespace emplace {

/// Runs the whole program: parses the command line, runs the command, and turns an exception into
/// one message on stderr and an exit code.
/// @return 0 on success; 1 if the run failed (RunError, and every unexpected exception); 2 if the
///   input is wrong (InputError)
int RunProgram(int argc, const char* const* argv);

}  // namespace emplace
