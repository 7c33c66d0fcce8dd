#pragma once

// Keeps two programs from extending the same results file, because each would overwrite the
// additions of the other.

#include <filesystem>
#include <list>
#include <vector>

#include "experiments/sweep/sweep_folder.h"
#include "framework/base/file_lock.h"

namespace emplace {

/// While this object lives, no other program writes to its results. A program that reads and then
/// extends results must create it before it reads.
///
/// A results file has its own lock (file_lock.h), except for the runs of a sweep. Workers take no
/// lock on those files: the lock of the folder protects them all.
class ResultsLock {
 public:
  /// @param results  results files and folders of sweeps; may be named more than once
  /// @throws InputError if one is being written, naming the writer; if workers of a killed sweep
  ///   still write; or as FileLock and FolderLock do
  /// @throws RunError as FileLock and FolderLock do
  explicit ResultsLock(const std::vector<std::filesystem::path>& results);

 private:
  std::list<FolderLock> folders_;
  std::list<FileLock> files_;
};

}  // namespace emplace
