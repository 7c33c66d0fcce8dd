#pragma once

namespace emplace {

/// The progress of one run of a sweep, or of one search in a results file. The values are bytes of
/// the board of a sweep (experiments/sweep/run_board.h).
enum class RunProgress : char {
  kNew = '.',      ///< no file, or nothing in it to resume
  kStopped = 's',  ///< there is a checkpoint
  kDone = 'd',     ///< finished, or its budget is used up
  kFailed = 'f',   ///< an exception, or the process ended before the first checkpoint
};

}  // namespace emplace
