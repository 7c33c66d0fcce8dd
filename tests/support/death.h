#pragma once

#include <functional>
#include <string>

namespace emplace::testing {

/// Runs `action` in a child process that shares nothing with this one afterwards.
/// @return what it wrote to stderr if it aborted, as EMPLACE_CHECK does; "" if it did not
std::string MessageOfAbort(const std::function<void()>& action);

}  // namespace emplace::testing
