#include "agents/policy_gradient/not_finite.h"

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {

void ThrowNotFinite(std::int64_t update, const Tape& tape, const std::string& graph) {
  const std::string what = tape.FirstNonFinite();
  throw RunError(fmt::format("update {}: {}not finite: {}",
                             update,
                             graph.empty() ? "" : fmt::format("graph \"{}\": ", graph),
                             what.empty() ? "the loss" : what));
}

}  // namespace emplace
