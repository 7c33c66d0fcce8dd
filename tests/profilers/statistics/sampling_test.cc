#include "profilers/statistics/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <boost/random/normal_distribution.hpp>
#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using emplace::testing::MessageOf;

TEST_CASE("the lower mean leaves the largest fiftieth out, at least one of several") {
  CHECK(LowerMean(std::vector<double>{5}) == 5);
  CHECK(LowerMean(std::vector<double>{3, 1}) == 1);  // one of two left out
  CHECK(LowerMean(std::vector<double>{1000, 1, 2, 3, 4, 5, 6, 7, 8, 9}) == 5);
  CHECK(Summarize(std::vector<double>{1000, 1, 2, 3, 4, 5, 6, 7, 8, 9}).mean == 5);
  std::vector<double> hundred(100, 7);  // two left out
  hundred[3] = hundred[50] = 1e9;
  CHECK(LowerMean(hundred) == 7);
  hundred[99] = 1e3;
  CHECK(LowerMean(hundred) == doctest::Approx((97 * 7 + 1e3) / 98));
}

TEST_CASE("the median absolute deviation by hand") {
  // Median 3.5; deviations from it: 0.5 2.5 6.5 0.5, their median 1.5.
  CHECK(MedianAbsoluteDeviation(std::vector<double>{4, 1, 10, 3}) == doctest::Approx(1.4826 * 1.5));
  CHECK(MedianAbsoluteDeviation(std::vector<double>{7}) == 0);
}

TEST_CASE("the interval of the median: order statistics of the binomial distribution") {
  const auto interval = [](int n) {
    std::vector<double> values(n);
    std::iota(values.begin(), values.end(), 1.0);
    const Timing timing = Summarize(values);
    CHECK(timing.samples == n);
    return std::pair(timing.low, timing.high);
  };
  // Published tables of the sign test's interval (ranks at 95 %).
  CHECK(interval(1) == std::pair(1.0, 1.0));
  CHECK(interval(5) == std::pair(1.0, 5.0));
  CHECK(interval(6) == std::pair(1.0, 6.0));  // 2 / 64 = 3.1 % outside
  CHECK(interval(8) == std::pair(1.0, 8.0));  // 2 * (1 + 8) / 256 = 7 % would be outside (2, 7)
  CHECK(interval(9) == std::pair(2.0, 8.0));  // 2 * (1 + 9) / 512 = 3.9 %
  CHECK(interval(10) == std::pair(2.0, 9.0));
  CHECK(interval(20) == std::pair(6.0, 15.0));
  CHECK(interval(50) == std::pair(18.0, 33.0));
  CHECK(interval(100) == std::pair(40.0, 61.0));
  // Large n: the normal approximation, ranks (n + 1) / 2 -+ 0.98 sqrt(n).
  const auto [low, high] = interval(5000);
  CHECK(std::abs(low - (2500.5 - 0.98 * std::sqrt(5000))) < 1.5);
  CHECK(low + high == 5001);
}

TEST_CASE("the interval holds the true median in at least 95 % of all samples, and not in all") {
  Rng rng(7);
  for (const int n : {6, 10, 25, 60}) {
    int covered = 0;
    constexpr int kRounds = 4000;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> values(n);
      // Skewed, as timings are: exponential with median log 2.
      for (double& value : values) value = -std::log1p(-Uniform01(rng));
      const Timing timing = Summarize(values);
      covered += timing.low <= std::log(2.0) && std::log(2.0) <= timing.high;
    }
    // Four standard errors below 95 %.
    CHECK(covered >= kRounds * 0.95 - 4 * std::sqrt(kRounds * 0.95 * 0.05));
    CHECK(covered < kRounds);
  }
}

// Invented timings: what was asked for, and what was given.
struct Script {
  std::function<double(size_t)> timing;
  std::vector<int> batches;
  std::vector<double> given;
  auto Sampler() {
    return [this](int count, std::vector<double>& timings) {
      batches.push_back(count);
      for (int i = 0; i < count; ++i) {
        given.push_back(timing(given.size()));
        timings.push_back(given.back());
      }
    };
  }
};

TEST_CASE("constant timings stop at min_samples: precise") {
  Script script{[](size_t) { return 1000.0; }, {}, {}};
  CHECK(MeasureUntilStable(script.Sampler(), {}) == Timing{1000, 1000, 1000, 10, 1000});
  CHECK(script.batches == std::vector{1, 9});
}

TEST_CASE("timings that never settle stop at max_samples") {
  Script script{[](size_t i) { return i % 2 == 0 ? 1000.0 : 2000.0; }, {}, {}};
  const StoppingRule rule{.min_samples = 10, .max_samples = 37};
  CHECK(MeasureUntilStable(script.Sampler(), rule).samples == 37);
  CHECK(script.given.size() == 37);
}

TEST_CASE("slow timings stop when the time is over, but not before slow_samples") {
  const auto alternating = [](double nanos) {
    return Script{[nanos](size_t i) { return nanos * (i % 2 == 0 ? 1.0 : 1.5); }, {}, {}};
  };
  // 0.1 s, 0.15 s, 0.1 s: 0.35 s are spent after three, 0.25 s were allowed.
  Script slow = alternating(1e8);
  CHECK(MeasureUntilStable(slow.Sampler(), {}) == Timing{1e8, 1e8, 1.5e8, 3, 1e8});
  // One timing beyond the time: still three.
  Script slower = alternating(1e9);
  CHECK(MeasureUntilStable(slower.Sampler(), {}).samples == 3);
  // 2.5 ms on average: the budget of 0.25 s holds about 100 of them, half of what the rule allows.
  Script medium = alternating(2e6);
  CHECK(MeasureUntilStable(medium.Sampler(), {}).samples < StoppingRule().max_samples);
  const double spent = std::accumulate(medium.given.begin(), medium.given.end(), 0.0);
  CHECK(spent >= 0.25e9);
  CHECK(spent < 0.25e9 * 1.3);
}

TEST_CASE("stops as soon as the interval is narrow enough, whatever the noise") {
  Rng rng(3);
  boost::random::normal_distribution<double> normal;
  for (int round = 0; round < 300; ++round) {
    const double noise = 0.05 * Uniform01(rng);
    Script script{[&](size_t) { return std::max(0.0, 1e5 * (1 + noise * normal(rng))); }, {}, {}};
    StoppingRule rule;
    rule.precision = 0.002 + 0.02 * Uniform01(rng);
    rule.max_samples = 10 + UniformInt(rng, 200);
    const Timing timing = MeasureUntilStable(script.Sampler(), rule);
    CHECK(timing == Summarize(script.given));
    const auto precise = [&](const Timing& t) {
      return t.high - t.median <= rule.precision * t.median &&
             t.median - t.low <= rule.precision * t.median;
    };
    CHECK((timing.samples == rule.max_samples || precise(timing)));
    CHECK(timing.samples >= rule.min_samples);
    CHECK(timing.samples <= rule.max_samples);
    // It would have stopped at an earlier batch had it been precise there.
    std::int64_t asked = 0;
    for (size_t i = 0; i + 1 < script.batches.size(); ++i) {
      asked += script.batches[i];
      if (asked < rule.min_samples) continue;
      CHECK_FALSE(precise(Summarize(std::span(script.given).first(asked))));
    }
  }
}

TEST_CASE("timings of nothing are precise") {
  Script script{[](size_t) { return 0.0; }, {}, {}};
  CHECK(MeasureUntilStable(script.Sampler(), {}) == Timing{0, 0, 0, 10});
}

TEST_CASE("what cannot be right is refused") {
  Script script{[](size_t) { return 1.0; }, {}, {}};
  const auto message = [&](StoppingRule rule) {
    return MessageOf<InputError>([&] { MeasureUntilStable(script.Sampler(), rule); });
  };
  CHECK(message({.min_samples = 20, .max_samples = 10}) ==
        "stopping rule: precision 0.01, samples 20 to 10 (3 if slow), 0.25 s; expected a precision "
        ">= 0, 1 <= min_samples <= max_samples, slow_samples >= 1 and max_seconds > 0");
  CHECK(message({.precision = -1}).find("precision -1") != std::string::npos);
  CHECK(message({.max_seconds = 0}).find(", 0 s;") != std::string::npos);
  Script broken{
      [](size_t i) { return i == 4 ? std::numeric_limits<double>::quiet_NaN() : 1.0; }, {}, {}};
  CHECK(MessageOf<RunError>([&] { MeasureUntilStable(broken.Sampler(), {}); }) ==
        "a timing of nan ns, expected a number >= 0");
}

}  // namespace
