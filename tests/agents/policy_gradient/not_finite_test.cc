#include "agents/policy_gradient/not_finite.h"

#include <limits>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/learn/ops.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("what is not finite is named with the update, the operation and the graph") {
  Tape tape;
  const Var zero = tape.Constant(Matrix::Zero(2, 3));
  const auto message = [&](const std::string& graph) {
    return MessageOf<RunError>([&] { ThrowNotFinite(17, tape, graph); });
  };
  CHECK(message("") == "update 17: not finite: the loss");
  CHECK(message("nmt") == "update 17: graph \"nmt\": not finite: the loss");
  Scale(tape, AddScalar(tape, zero, 1), std::numeric_limits<float>::infinity());
  CHECK(message("") == "update 17: not finite: scale [2, 3]: value");
  CHECK(message("nmt") == "update 17: graph \"nmt\": not finite: scale [2, 3]: value");
}

}  // namespace
