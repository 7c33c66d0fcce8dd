#include "framework/bounds/mip.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "tests/framework/bounds/random_choices.h"

namespace {

using namespace emplace;
using emplace::testing::RandomChoices;

using Entries = std::vector<std::pair<int, double>>;

// min x + y  s.t.  x + 2 y >= 4,  3 x + y >= 6: least at (8/5, 6/5), 14/5, with prices 2/5 and 1/5.
LinearModel TwoRows() {
  LinearModel model;
  model.AddColumn(1, 0, 100);
  model.AddColumn(1, 0, 100);
  model.AddRow(4, kNoLimit, Entries{{0, 1}, {1, 2}});
  model.AddRow(6, kNoLimit, Entries{{0, 3}, {1, 1}});
  return model;
}

TEST_CASE("a linear programme, its prices, and what they prove") {
  LinearModel model = TwoRows();
  LinearProgramme programme(model);
  REQUIRE(programme.Solve({}) == LinearProgramme::Status::kOptimal);
  CHECK(programme.solution()[0] == doctest::Approx(1.6));
  CHECK(programme.solution()[1] == doctest::Approx(1.2));
  CHECK(programme.prices()[0] == doctest::Approx(0.4));

  const std::vector<double> prices{0.4, 0.2};
  const double proven = ProvenValue(model, prices, model.lower, model.upper);
  CHECK(proven == doctest::Approx(2.8).epsilon(1e-12));
  CHECK(proven <= 2.8);
  std::vector<double> reduced;
  ProvenValue(model, std::vector{0.2, 0.1}, model.lower, model.upper, &reduced);
  CHECK(reduced[0] == doctest::Approx(0.5));  // 1 - 0.2 - 3 * 0.1
  CHECK(reduced[0] <= 0.5);
  CHECK(reduced[1] == doctest::Approx(0.5));  // 1 - 2 * 0.2 - 0.1
  // Half the prices: 1.4 of the rows, reduced costs 1 - 0.5 >= 0 on columns that may be 0.
  CHECK(ProvenValue(model, std::vector{0.2, 0.1}, model.lower, model.upper) ==
        doctest::Approx(1.4).epsilon(1e-12));
  // 0.6 and 0.2: the second column gets 1 - 1.4, which proves nothing without an upper bound.
  CHECK(ProvenValue(model, std::vector{0.6, 0.2}, model.lower, std::vector{100.0, kNoLimit}) ==
        -kNoLimit);
  // 0.4 and 0.3: the first gets 1 - 1.3 = -0.3, 100 times at most: 1.6 + 1.8 - 30; the second -0.1.
  CHECK(ProvenValue(model, std::vector{0.4, 0.3}, model.lower, std::vector{100.0, 10.0}) ==
        doctest::Approx(3.4 - 30 - 1));
  // A row without upper limit proves nothing at a price below 0.
  CHECK(ProvenValue(model, std::vector{-1.0, 0.0}, model.lower, model.upper) <= 0);

  model.AddRow(0, 1, Entries{{0, 1}});  // x <= 1: then y = 3
  programme.AddRows(model);
  REQUIRE(programme.Solve({}) == LinearProgramme::Status::kOptimal);
  CHECK(programme.solution()[1] == doctest::Approx(3));
  programme.SetBounds(1, 0, 2);
  CHECK(programme.Solve({}) == LinearProgramme::Status::kInfeasible);
  CHECK(programme.InfeasibilityRay().size() == 3);
  programme.SetBounds(1, 0, 3);
  CHECK(programme.Solve([] { return true; }) == LinearProgramme::Status::kStopped);
}

TEST_CASE("any prices prove no more than the least value of all choices") {
  Rng rng(1);
  for (int trial = 0; trial < 300 * EMPLACE_TEST_SCALE; ++trial) {
    const RandomChoices random(rng);
    std::vector<double> prices;
    for (int i = 0; i < random.model.num_rows(); ++i) prices.push_back(2 * Uniform01(rng) - 0.5);
    CHECK(ProvenValue(random.model, prices, random.model.lower, random.model.upper) <=
          random.Least());
  }
}

__extension__ using Exact = __int128;

// A whole number of at most so many bits, either sign.
double RandomWhole(Rng& rng, int bits) {
  const double most = std::ldexp(1.0, bits);
  return std::round((2 * Uniform01(rng) - 1) * most);
}

// Whole coefficients and limits up to 2^48, so that the value that prices prove is known exactly.
// Of each pair of rows the terms cancel but for a part in 2^40 or less.
struct CancellingRows {
  explicit CancellingRows(Rng& rng) {
    constexpr int kColumns = 3, kPairs = 2;
    for (int c = 0; c < kColumns; ++c) {
      const double least = UniformInt(rng, 5) - 2;
      const bool is_open = UniformInt(rng, 4) == 0;
      model.AddColumn(RandomWhole(rng, 20), least, is_open ? kNoLimit : least + UniformInt(rng, 4));
    }
    for (int pair = 0; pair < kPairs; ++pair) {
      const double price = 1 + std::fabs(RandomWhole(rng, 48));
      const double other = 1 + std::fabs(RandomWhole(rng, 48));
      Entries row, opposite;
      for (int c = 0; c < kColumns; ++c) {
        row.emplace_back(c, RandomWhole(rng, 40));
        opposite.emplace_back(c, std::round(price / other * row.back().second));
      }
      const double limit = RandomWhole(rng, 48);
      model.AddRow(limit, kNoLimit, row);
      model.AddRow(-kNoLimit, std::round(price / other * limit), opposite);
      prices.insert(prices.end(), {price, -other});
    }
  }

  Exact ReducedCost(int column) const {
    Exact reduced = static_cast<Exact>(model.cost[column]);
    for (int i = 0; i < model.num_rows(); ++i) {
      for (int e = model.row_begin[i]; e < model.row_begin[i + 1]; ++e) {
        if (model.column[e] != column) continue;
        reduced -= static_cast<Exact>(prices[i]) * static_cast<Exact>(model.value[e]);
      }
    }
    return reduced;
  }

  // Nothing where a column without upper bound has a reduced cost below 0.
  std::optional<Exact> Proven() const {
    Exact sum = 0;
    for (int i = 0; i < model.num_rows(); ++i) {
      const double limit = prices[i] > 0 ? model.row_lower[i] : model.row_upper[i];
      sum += static_cast<Exact>(prices[i]) * static_cast<Exact>(limit);
    }
    for (int c = 0; c < model.num_columns(); ++c) {
      const Exact reduced = ReducedCost(c);
      if (reduced >= 0) {
        sum += reduced * static_cast<Exact>(model.lower[c]);
      } else if (model.upper[c] == kNoLimit) {
        return std::nullopt;
      } else {
        sum += reduced * static_cast<Exact>(model.upper[c]);
      }
    }
    return sum;
  }

  LinearModel model;
  std::vector<double> prices;
};

TEST_CASE("prices that cancel prove no more than exact arithmetic does, and hardly less") {
  Rng rng(4);
  int bounded = 0, unbounded = 0;
  for (int trial = 0; trial < 2000 * EMPLACE_TEST_SCALE; ++trial) {
    CAPTURE(trial);
    const CancellingRows rows(rng);
    std::vector<double> reduced;
    const double proven =
        ProvenValue(rows.model, rows.prices, rows.model.lower, rows.model.upper, &reduced);
    const std::optional<Exact> exact = rows.Proven();
    if (!exact) {
      ++unbounded;
      CHECK(proven == -kNoLimit);
      continue;
    }
    if (proven == -kNoLimit) continue;  // a reduced cost above 0 by less than the margin
    ++bounded;
    CHECK(static_cast<Exact>(std::ceil(proven)) <= *exact);
    for (std::size_t c = 0; c < reduced.size(); ++c) {
      CHECK(static_cast<Exact>(std::ceil(reduced[c])) <= rows.ReducedCost(static_cast<int>(c)));
    }
    // The margin is 11 units of 2^-63 (4 rows, 3 columns, 4) of four terms of 2^96 at most on rows,
    // and of less than a tenth of that on columns: below 2^39.
    CHECK(*exact - static_cast<Exact>(proven) <= Exact{1} << 40);
  }
  CHECK(bounded > 500);
  CHECK(unbounded > 100);
}

TEST_CASE("branch and bound finds the least value of all choices, and proves it") {
  Rng rng(2);
  int infeasible = 0;
  for (int trial = 0; trial < 100 * EMPLACE_TEST_SCALE; ++trial) {
    const RandomChoices random(rng);
    const double least = random.Least();
    double best = 1e6, bound = -kNoLimit;
    const double proven =
        BranchAndBound(random.model,
                       {.choices = random.choices,
                        .weight = random.weight,
                        .cutoff = [&] { return best - 0.5; },
                        .found =
                            [&](std::span<const double> x, bool whole) {
                              double value = 0;
                              for (int c = 0; c < random.model.num_columns(); ++c) {
                                value += random.model.cost[c] * x[c];
                              }
                              if (whole) best = std::min(best, std::round(value));
                            },
                        .improved =
                            [&](double value) {
                              CHECK(value > bound);
                              bound = value;
                            }});
    CHECK(bound <= proven);
    if (least == kNoLimit) {
      ++infeasible;
      CHECK(best == 1e6);
      CHECK(proven == doctest::Approx(1e6));
    } else {
      CHECK(best == least);
      CHECK(proven <= least);
      CHECK(proven >= least - 0.5 - 1e-6);
    }
  }
  CHECK(infeasible > 0);
}

TEST_CASE("a search that is stopped has proved what its open nodes prove") {
  Rng rng(3);
  for (int trial = 0; trial < 30; ++trial) {
    const RandomChoices random(rng);
    int looks = 0;
    const double proven = BranchAndBound(
        random.model, {.choices = random.choices, .weight = random.weight, .stop = [&] {
                         return ++looks > trial % 6;
                       }});
    CHECK(proven <= random.Least());
  }
}

}  // namespace
