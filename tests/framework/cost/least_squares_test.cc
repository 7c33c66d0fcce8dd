#include "framework/cost/least_squares.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

using One = Eigen::Matrix<double, 1, 1>;
using Two = Eigen::Vector2d;

TEST_CASE("Huber's loss is a parabola up to the width and its tangent beyond") {
  CHECK(HuberLoss(0, 2) == 0);
  CHECK(HuberLoss(-1, 2) == 0.5);
  CHECK(HuberLoss(2, 2) == 2);   // 2^2 / 2 = 2 (2 - 1)
  CHECK(HuberLoss(-5, 2) == 8);  // 2 (5 - 1)
}

TEST_CASE("a line through three points on it: 1 + 2 x") {
  const double y[] = {1, 3, 5};
  const auto evaluate = [&](const Two& p, std::vector<double>& errors, std::vector<Two>* slopes) {
    for (int i = 0; i < 3; ++i) {
      errors[i] = p[0] + p[1] * i - y[i];
      if (slopes != nullptr) (*slopes)[i] = Two(1, i);
    }
  };
  Two at(0, 0);
  CHECK(MinimizeHuber(evaluate, 3, {.huber_width = 100}, at) < 1e-12);
  CHECK(at[0] == doctest::Approx(1));
  CHECK(at[1] == doctest::Approx(2));
}

// Values 0, 0, 0 and 10: the mean is 2.5, but with Huber's width w only the three pull with their
// distance, the fourth with w: 3 x = w.
TEST_CASE("an outlier pulls with no more than the width") {
  const double y[] = {0, 0, 0, 10};
  const auto evaluate = [&](const One& p, std::vector<double>& errors, std::vector<One>* slopes) {
    for (int i = 0; i < 4; ++i) {
      errors[i] = p[0] - y[i];
      if (slopes != nullptr) (*slopes)[i] = One(1);
    }
  };
  One at(5);
  const double loss = MinimizeHuber(evaluate, 4, {.huber_width = 0.6}, at);
  CHECK(at[0] == doctest::Approx(0.2).epsilon(1e-4));
  // 3 * 0.2^2 / 2 + 0.6 (9.8 - 0.3)
  CHECK(loss == doctest::Approx(0.06 + 5.7));
  at = One(5);
  MinimizeHuber(evaluate, 4, {.huber_width = 100}, at);
  CHECK(at[0] == doctest::Approx(2.5));
}

// Rosenbrock's valley: errors 10 (y - x^2) and 1 - x; 0 at (1, 1).
TEST_CASE("a curved valley is followed to its end") {
  const auto evaluate = [](const Two& p, std::vector<double>& errors, std::vector<Two>* slopes) {
    errors = {10 * (p[1] - p[0] * p[0]), 1 - p[0]};
    if (slopes != nullptr) *slopes = {Two(-20 * p[0], 10), Two(-1, 0)};
  };
  Two at(-1.2, 1);
  CHECK(MinimizeHuber(evaluate, 2, {.huber_width = 1e6}, at) < 1e-12);
  CHECK(at[0] == doctest::Approx(1));
  CHECK(at[1] == doctest::Approx(1));
}

// One error x - 10 from x = 0.
struct Distance {
  void operator()(const One& p, std::vector<double>& errors, std::vector<One>* slopes) const {
    errors[0] = p[0] - 10;
    if (slopes != nullptr) (*slopes)[0] = One(1);
  }
};

TEST_CASE("no step is longer than allowed, and none leads below the floor") {
  One at(0);
  MinimizeHuber(Distance(), 1, {.huber_width = 100, .max_step = 2, .max_steps = 3}, at);
  CHECK(at[0] == 6);
  at = One(0);
  MinimizeHuber(Distance(), 1, {.huber_width = 100}, at);
  CHECK(at[0] == doctest::Approx(10));
  at = One(20);
  MinimizeHuber(Distance(), 1, {.huber_width = 100, .floor = 12}, at);
  CHECK(at[0] == 12);
}

TEST_CASE("a parameter on which nothing depends stays, and a loss that is no number stops it") {
  const auto ignores = [](const Two& p, std::vector<double>& errors, std::vector<Two>* slopes) {
    errors[0] = p[1] - 3;
    if (slopes != nullptr) (*slopes)[0] = Two(0, 1);
  };
  Two at(7, 0);
  MinimizeHuber(ignores, 1, {.huber_width = 100}, at);
  CHECK(at[0] == 7);
  CHECK(at[1] == doctest::Approx(3));
  const auto no_number = [](const One&, std::vector<double>& errors, std::vector<One>* slopes) {
    errors[0] = std::numeric_limits<double>::quiet_NaN();
    if (slopes != nullptr) (*slopes)[0] = One(1);
  };
  One start(4);
  CHECK(std::isnan(MinimizeHuber(no_number, 1, {}, start)));
  CHECK(start[0] == 4);
}

}  // namespace
