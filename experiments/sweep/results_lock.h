#pragma once

// Keeps two programs from adding to one results file in turns, each over what the other has
// written.

#include <filesystem>
#include <list>
#include <vector>

#include "experiments/sweep/sweep_folder.h"
#include "framework/base/file_lock.h"

namespace emplace {

/// While one lives no other program writes into the results that it was made for. To be taken
/// before they are read, by what reads and then adds.
///
/// A results file has a lock of its own (file_lock.h), but for the runs of a sweep, whose workers
/// take none: the lock of the folder guards them all.
class ResultsLock {
 public:
  /// @param results  results files and folders of sweeps; may be named more than once
  /// @throws InputError if one is being written, naming by whom, if workers of a sweep that is no
  ///   longer there still write, or as FileLock and FolderLock do
  /// @throws RunError as these do
  explicit ResultsLock(const std::vector<std::filesystem::path>& results);

 private:
  std::list<FolderLock> folders_;
  std::list<FileLock> files_;
};

}  // namespace emplace
