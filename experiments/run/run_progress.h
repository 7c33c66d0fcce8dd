#pragma once

#include <cstdint>

namespace emplace {

/// The progress of one run of a sweep, or of one search in a results file.
enum class RunProgress : std::uint8_t {
  kNew,      ///< no file, or nothing in it to resume
  kStopped,  ///< there is a checkpoint
  kDone,     ///< finished, or its budget is used up
  kFailed,   ///< an exception, or the process ended before the first checkpoint
};

}  // namespace emplace
