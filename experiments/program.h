#pragma once

namespace emplace {

/// The whole program: parses the command line, does what it says, and turns an exception into one
/// message on stderr and an exit code.
/// @return 0 done; 1 the run failed (RunError, and every exception that was not foreseen); 2 the
///   input is wrong (InputError)
int RunProgram(int argc, const char* const* argv);

}  // namespace emplace
