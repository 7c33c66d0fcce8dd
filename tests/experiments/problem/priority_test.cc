#include "experiments/problem/priority.h"

#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("a priority has a name, and another than id asks for an issue order") {
  for (const Priority priority :
       {Priority::kId, Priority::kUpwardRank, Priority::kGiven, Priority::kSearched}) {
    CHECK(ParsePriority(ToString(priority), "here", Semantics::kStream) == priority);
    CHECK(PriorityHelp().find(ToString(priority)) != std::string::npos);
  }
  CHECK(ParsePriority("id", "here", Semantics::kQueue) == Priority::kId);
  const auto error_of = [](const char* text, Semantics semantics) {
    return MessageOf<InputError>([&] { ParsePriority(text, "r.yaml:3:11", semantics); });
  };
  CHECK(error_of("upward_rank", Semantics::kQueue) ==
        "r.yaml:3:11: queue semantics has no issue order; expected priority id, got upward_rank");
  CHECK(error_of("given", Semantics::kQueue).find("got given") != std::string::npos);
  CHECK(error_of("rank", Semantics::kStream) ==
        "r.yaml:3:11: unknown priority \"rank\"; choices: id, upward_rank, given, searched");
}

TEST_CASE("the order of a priority: ranks of the problem at hand, or the one that is given") {
  ProblemBuilder b;
  b.Device("d0");
  b.Op("a", {1});
  b.Op("b", {2});
  b.Op("c", {4}, {1});
  const auto problem = b.Build();
  const std::vector<int> given = {1, 0, 2};
  const auto order_of = [&](Semantics semantics, Priority priority) {
    return WithPriority({.semantics = semantics, .issue_order = {2}}, priority, *problem, given)
        .issue_order;
  };
  CHECK(order_of(Semantics::kStream, Priority::kId).empty());
  // Ranks: a 1, b 2 + 4, c 4.
  CHECK(order_of(Semantics::kStream, Priority::kUpwardRank) == std::vector<int>{1, 2, 0});
  CHECK(order_of(Semantics::kStream, Priority::kGiven) == given);
  CHECK(order_of(Semantics::kStream, Priority::kSearched) == std::vector<int>{1, 2, 0});
  CHECK(WithPriority({Semantics::kStream}, Priority::kSearched, *problem).order_may_change);
  CHECK_FALSE(WithPriority({Semantics::kStream}, Priority::kUpwardRank, *problem).order_may_change);
  CHECK(order_of(Semantics::kQueue, Priority::kGiven).empty());
}

}  // namespace
