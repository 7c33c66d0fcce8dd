#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace emplace::fuzz {

/// The bytes of each file of a folder as they are, in the order of their names; none if it is not
/// there.
std::vector<std::string> FilesOf(const std::filesystem::path& folder);

/// Those of tests/fuzz/WHAT/TARGET. @param what  "corpus" or "crashes"
std::vector<std::string> KeptInputs(const FuzzTarget& target, const std::string& what);

}  // namespace emplace::fuzz
