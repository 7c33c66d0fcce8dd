#pragma once

#include <cstdint>

namespace emplace {

/// How far one run of a sweep, or one search in a results file, has come.
enum class RunProgress : std::uint8_t {
  kNew,      ///< no file, or nothing in it to go on from
  kStopped,  ///< there is a checkpoint
  kDone,     ///< finished, or its budget is used up
  kFailed,   ///< an exception, or the process ended before the first checkpoint
};

}  // namespace emplace
