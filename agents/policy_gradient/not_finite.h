#pragma once

#include <cstdint>
#include <string>

#include "framework/learn/tape.h"

namespace emplace {

/// Ends a search in which a value, the loss or a gradient is not a finite number.
/// @param update  updates before this one
/// @param tape  the recording so far; names the operation
/// @param graph  of several, the one it happened on; "": there is one only
/// @throws RunError "update 17: not finite: log_softmax [8, 3]: value", "update 17: graph \"nmt\":
///   not finite: ..."; "the loss" where no operation is to blame
[[noreturn]] void ThrowNotFinite(std::int64_t update,
                                 const Tape& tape,
                                 const std::string& graph = "");

}  // namespace emplace
