#include "agents/post/sharing.h"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/support/gradients.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Matrix Shared(const Sharing& sharing, const Matrix& w) {
  Tape tape;
  return tape.value(sharing.Share(tape, tape.ConstantView(w)));
}

// a -> b -> c with 8 and 15 bytes: weights sqrt(9) = 3 and sqrt(16) = 4; d alone.
std::shared_ptr<const Problem> Chain() {
  ProblemBuilder builder = Gpus(2);
  const int a = builder.Op("a", {1}, {}, 8);
  const int b = builder.Op("b", {1}, {a}, 15);
  builder.Op("c", {1}, {b}, 0);
  builder.Op("d", {1}, {}, 0);
  return builder.Build();
}

TEST_CASE("what a group has of its own is what it differs by from its neighbours") {
  const auto problem = Chain();
  const Sharing sharing(*problem, {0, 1, 2, 3}, 2);
  Matrix u(4, 1);
  u << 1, 5, -2, 9;
  // w = u + 2 (u - mean of the neighbours' u by weight)
  const Matrix w = sharing.Unshare(u);
  CHECK(w(0, 0) == doctest::Approx(1 + 2 * (1 - 5)));
  CHECK(w(1, 0) == doctest::Approx(5 + 2 * (5 - (3 * 1 + 4 * -2) / 7.0)));
  CHECK(w(2, 0) == doctest::Approx(-2 + 2 * (-2 - 5)));
  CHECK(w(3, 0) == doctest::Approx(9));
  CHECK(Distance(Shared(sharing, w), u) < 1e-5);
}

TEST_CASE("another strength is that of a new object") {
  const auto problem = Chain();
  Sharing sharing(*problem, {0, 1, 2, 3}, 2);
  sharing.SetStrength(7);
  CHECK(sharing.strength() == 7);
  Matrix u(4, 1);
  u << 1, 5, -2, 9;
  CHECK(sharing.Unshare(u) == Sharing(*problem, {0, 1, 2, 3}, 7).Unshare(u));
  CHECK(Distance(Shared(sharing, sharing.Unshare(u)), u) < 1e-5);
}

TEST_CASE("only the groups given have a part in it") {
  const auto problem = Chain();
  const Sharing sharing(*problem, {2, 0}, 2);  // not neighbours without b
  Matrix u(2, 1);
  u << 3, 4;
  CHECK(Distance(sharing.Unshare(u), u) < 1e-6);
}

TEST_CASE("it is linear and invertible, keeps what is equal, and no strength changes nothing") {
  Rng rng(2);
  for (int trial = 0; trial < 30; ++trial) {
    const auto problem = RandomProblem(rng, {.num_ops = 1 + UniformInt(rng, 30)});
    std::vector<int> groups(problem->num_groups());
    std::iota(groups.begin(), groups.end(), 0);
    const int rows = problem->num_groups();
    const Sharing sharing(*problem, groups, 30 * Uniform01(rng)), none(*problem, groups, 0);
    const Matrix u = RandomMatrix(rows, 3, rng);
    CHECK(Distance(Shared(sharing, sharing.Unshare(u)), u) < 1e-4);
    CHECK(Distance(Shared(none, u), u) < 1e-6);
    CHECK(Distance(none.Unshare(u), u) < 1e-6);
    const Matrix equal = Matrix::Constant(rows, 3, 0.7F);
    CHECK(Distance(Shared(sharing, equal), equal) < 1e-5);
  }
}

TEST_CASE("what moves one group moves its neighbours the same way, less and less") {
  const auto problem = Chain();
  const Sharing sharing(*problem, {0, 1, 2, 3}, 5);
  Matrix w = Matrix::Zero(4, 1);
  w(0, 0) = 1;
  const Matrix u = Shared(sharing, w);
  CHECK(u(0, 0) > u(1, 0));
  CHECK(u(1, 0) > u(2, 0));
  CHECK(u(2, 0) > 0);
  CHECK(u(3, 0) == 0);
}

TEST_CASE("gradients are those of finite differences") {
  Rng rng(3);
  for (int trial = 0; trial < 5; ++trial) {
    const auto problem = RandomProblem(rng, {.num_ops = 6});
    const Sharing sharing(*problem, {0, 1, 2, 4, 5}, 3);
    CheckGradients(
        [&](Tape& tape, const std::vector<Var>& in) { return sharing.Share(tape, in[0]); },
        {RandomMatrix(5, 2, rng)});
  }
}

}  // namespace
