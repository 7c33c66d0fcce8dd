#pragma once

namespace emplace {

/// The whole program: parses the command line, does what it says, and turns what is thrown into one
/// message on stderr and an exit code.
/// @return 0 done; 1 the run failed (RunError, an unforeseen exception); 2 the user's input is
/// wrong
int RunProgram(int argc, const char* const* argv);

}  // namespace emplace
