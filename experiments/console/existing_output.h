#pragma once

// Output files of long computations: their default names and folders, and the refusal to overwrite
// one.

#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

/// Refuses to overwrite a file that is not empty. Devices and pipes are never refused.
/// @param choices  for the message: "--force overwrites it, -o names another file"
/// @throws InputError naming the file, its content and the choices
void RequireUnused(const std::filesystem::path& output, const std::string& choices);

/// Creates a folder and those above it, unless they exist. @throws RunError naming it if it cannot
void CreateFolder(const std::filesystem::path& folder);

/// Returns the part of a results file's name that lists the changes by --set:
/// ".graph=nmt.agents=heft,random". A path is shortened to the file's name without extensions; for
/// a key that is set twice the last value counts; keys that change no result (ChangesNoResult())
/// are left out. A long part ends in a checksum.
/// @param settings  "KEY=VALUE" each
std::string NamePart(const std::vector<std::string>& settings);

/// Returns whether this key of a config never changes a result: `jobs`, `threads`, `output`, `gpu`,
/// `evaluator`.
bool ChangesNoResult(const std::string& key);

}  // namespace emplace
