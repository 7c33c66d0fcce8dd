#pragma once

// launchers/hyperqueue_client.py, compiled into the program.

#include <string_view>

namespace emplace::internal {

extern const std::string_view kHyperQueueClient;

}  // namespace emplace::internal
