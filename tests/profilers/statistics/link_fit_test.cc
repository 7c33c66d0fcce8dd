#include "profilers/statistics/link_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using emplace::testing::MessageOf;

std::vector<LinkPoint> PowersOfTwo(int most, const std::function<double(double)>& time) {
  std::vector<LinkPoint> points;
  for (int power = 0; power <= most; ++power) {
    const double bytes = std::exp2(power);
    points.push_back({bytes, time(bytes)});
  }
  return points;
}

TEST_CASE("one line: latency and bandwidth are recovered in one range") {
  const auto points = PowersOfTwo(30, [](double n) { return 1500 + n / 8; });
  const std::vector<LinkRange> ranges = FitLink(points);
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].from_bytes == 0);
  CHECK(ranges[0].latency_ns == doctest::Approx(1500));
  CHECK(ranges[0].bytes_per_second == doctest::Approx(8e9));
  CHECK(LinkTime(ranges, 1000) == doctest::Approx(1625));
  CHECK(MaxRelativeError(ranges, points) < 1e-9);
}

TEST_CASE("piecewise lines and their breakpoints are recovered") {
  // 100 + n below 1000 B, 600 + n / 2 below 80,000 B (lines meet there), then 20,600 + n / 4.
  const auto time = [](double n) {
    return n < 1000 ? 100 + n : n < 80'000 ? 600 + n / 2 : 20'600 + n / 4;
  };
  const auto points = PowersOfTwo(26, time);
  const std::vector<LinkRange> ranges = FitLink(points);
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0].latency_ns == doctest::Approx(100));
  CHECK(ranges[0].bytes_per_second == doctest::Approx(1e9));
  CHECK(ranges[1].from_bytes == doctest::Approx(1000));
  CHECK(ranges[1].latency_ns == doctest::Approx(600));
  CHECK(ranges[1].bytes_per_second == doctest::Approx(2e9));
  CHECK(ranges[2].from_bytes == doctest::Approx(80'000));
  CHECK(ranges[2].bytes_per_second == doctest::Approx(4e9));
  for (double n = 1; n < 1e8; n *= 1.7) CHECK(LinkTime(ranges, n) == doctest::Approx(time(n)));
  CHECK(FitLink(points, 1).size() == 1);
  CHECK(FitLink(points, 2).size() == 2);
}

TEST_CASE("a jump: the later range begins at its first size") {
  const auto points = PowersOfTwo(20, [](double n) { return n < 5000 ? 1000 + n : 30'000 + n; });
  const std::vector<LinkRange> ranges = FitLink(points);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[1].from_bytes == 8192);
  CHECK(LinkTime(ranges, 8191) == doctest::Approx(9191));
  CHECK(LinkTime(ranges, 8192) == doctest::Approx(38'192));
}

// Least maximal relative error of one line with latency >= 0, by a fine search over the slope and,
// for each, the exact latency: the error is least where the worst above equals the worst below.
double BestErrorBySearch(const std::vector<LinkPoint>& points) {
  double steepest = 0;
  for (const LinkPoint& p : points) steepest = std::max(steepest, p.nanos / std::max(1.0, p.bytes));
  double low = 0, high = 3 * steepest;
  const auto error_at = [&](double slope) {
    double a_low = 0, a_high = 0;
    for (const LinkPoint& p : points) a_high = std::max(a_high, p.nanos);
    const auto worst = [&](double a) {
      double e = 0;
      for (const LinkPoint& p : points) {
        e = std::max(e, std::abs(a + slope * p.bytes - p.nanos) / p.nanos);
      }
      return e;
    };
    for (int i = 0; i < 120; ++i) {
      const double third = (a_high - a_low) / 3;
      (worst(a_low + third) <= worst(a_high - third) ? a_high : a_low) +=
          worst(a_low + third) <= worst(a_high - third) ? -third : third;
    }
    return worst((a_low + a_high) / 2);
  };
  for (int i = 0; i < 120; ++i) {
    const double third = (high - low) / 3;
    if (error_at(low + third) <= error_at(high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  return error_at((low + high) / 2);
}

TEST_CASE("one range has the least maximal relative error of all lines") {
  Rng rng(4);
  for (int round = 0; round < 40; ++round) {
    std::vector<LinkPoint> points;
    const double latency = 1000 * Uniform01(rng), slope = Uniform01(rng);
    const int count = 2 + UniformInt(rng, 12);
    for (int i = 0; i < count; ++i) {
      const double bytes = std::exp2(i);
      points.push_back({bytes, (1 + latency + slope * bytes) * (0.7 + 0.6 * Uniform01(rng))});
    }
    const std::vector<LinkRange> ranges = FitLink(points, 1);
    REQUIRE(ranges.size() == 1);
    CHECK(ranges[0].latency_ns >= 0);
    CHECK(ranges[0].bytes_per_second <= kFlatBandwidth);
    const double best = BestErrorBySearch(points);
    CHECK(MaxRelativeError(ranges, points) <= best + 1e-6);
    CHECK(MaxRelativeError(ranges, points) >= best - 1e-6);
  }
}

TEST_CASE("more ranges never fit worse, and each one added lowers the error by a tenth") {
  Rng rng(5);
  for (int round = 0; round < 100; ++round) {
    const double noise = 0.2 * Uniform01(rng);
    auto points = PowersOfTwo(8 + UniformInt(rng, 20), [&](double n) {
      return (500 + n / (1 + std::log2(n + 1))) * (1 + noise * (Uniform01(rng) - 0.5));
    });
    for (size_t i = points.size(); i > 1; --i) {
      std::swap(points[i - 1], points[UniformInt(rng, static_cast<int>(i))]);
    }
    const double one = MaxRelativeError(FitLink(points, 1), points);
    for (const int most : {2, 3, 4}) {
      const std::vector<LinkRange> ranges = FitLink(points, most);
      CHECK(ranges.size() <= static_cast<size_t>(most));
      CHECK(MaxRelativeError(ranges, points) <=
            one * std::pow(0.9, static_cast<double>(ranges.size()) - 1) + 1e-12);
      for (size_t i = 0; i < ranges.size(); ++i) {
        CHECK(ranges[i].latency_ns >= 0);
        CHECK(ranges[i].bytes_per_second > 0);
        CHECK(
            (i == 0 ? ranges[i].from_bytes == 0 : ranges[i].from_bytes > ranges[i - 1].from_bytes));
      }
    }
  }
}

TEST_CASE("times that fall with the size or go through the origin keep latency and slope >= 0") {
  const std::vector<LinkPoint> falling{{1, 300}, {2, 200}, {4, 100}};
  const std::vector<LinkRange> flat = FitLink(falling, 1);
  CHECK(flat[0].bytes_per_second == doctest::Approx(kFlatBandwidth));
  // 100 (1 + e) = 300 (1 - e): e = 1/2, at 150.
  CHECK(flat[0].latency_ns == doctest::Approx(150));
  const std::vector<LinkPoint> steep{{100, 50}, {200, 200}, {300, 400}};
  const std::vector<LinkRange> ray = FitLink(steep, 1);
  CHECK(ray[0].latency_ns == 0);
  // slope s: 100 s = 50 (1 + e), 300 s = 400 (1 - e): s = 0.5 (1 + e) = 4/3 (1 - e), e = 5/11.
  CHECK(1e9 / ray[0].bytes_per_second == doctest::Approx(0.5 * 16 / 11));
}

TEST_CASE("several timings of one size count as their median") {
  const std::vector<LinkPoint> points{
      {100, 1100}, {100, 1100}, {100, 9000}, {1000, 2000}, {1000, 2000}, {1000, 1}, {2000, 3000}};
  const std::vector<LinkRange> ranges = FitLink(points, 1);
  CHECK(ranges[0].latency_ns == doctest::Approx(1000));
  CHECK(ranges[0].bytes_per_second == doctest::Approx(1e9));
  // A weight decides, too.
  const std::vector<LinkPoint> weighted{{100, 1100, 3}, {100, 9000, 1}, {1000, 2000, 1}};
  CHECK(FitLink(weighted)[0].latency_ns == doctest::Approx(1000));
}

// Sum of weight * absolute error, and its least value over the lines through two points, through
// one point and the origin, and flat through one: one of these is optimal (a linear programme).
double TotalError(double latency, double slope, const std::vector<LinkPoint>& points) {
  double total = 0;
  for (const LinkPoint& p : points) {
    total += p.weight * std::abs(latency + slope * p.bytes - p.nanos);
  }
  return total;
}
double LeastTotalError(const std::vector<LinkPoint>& points) {
  double best = 1e300;
  for (const LinkPoint& p : points) {
    best = std::min(best, TotalError(p.nanos, 0, points));
    if (p.bytes > 0) best = std::min(best, TotalError(0, p.nanos / p.bytes, points));
    for (const LinkPoint& q : points) {
      if (q.bytes <= p.bytes) continue;
      const double slope = (q.nanos - p.nanos) / (q.bytes - p.bytes);
      const double latency = p.nanos - slope * p.bytes;
      if (slope >= 0 && latency >= 0) best = std::min(best, TotalError(latency, slope, points));
    }
  }
  return best;
}

TEST_CASE("a channel has the least total error of all lines") {
  Rng rng(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<LinkPoint> points;
    const double latency = 1000 * Uniform01(rng), slope = Uniform01(rng);
    const int count = 3 + UniformInt(rng, 12);
    for (int i = 0; i < count; ++i) {
      const double bytes = 1 + UniformInt(rng, 5000);
      points.push_back({bytes,
                        (1 + latency + slope * bytes) * (0.5 + Uniform01(rng)),
                        static_cast<double>(1 + UniformInt(rng, 5))});
    }
    const LinkRange range = FitChannel(points);
    CHECK(range.latency_ns >= 0);
    const double total = TotalError(range.latency_ns, 1e9 / range.bytes_per_second, points);
    CHECK(total == doctest::Approx(LeastTotalError(points)).epsilon(1e-6));
  }
}

TEST_CASE(
    "a channel's exact line is recovered exactly, outliers and zero weights notwithstanding") {
  auto points = PowersOfTwo(24, [](double n) { return 700 + n; });
  points[3].nanos = 1e6;
  points.push_back({5000, 1, 0});
  const LinkRange range = FitChannel(points);
  CHECK(std::lround(range.latency_ns) == 700);
  CHECK(std::llround(range.bytes_per_second) == 1'000'000'000);
}

TEST_CASE("what cannot be fitted is refused") {
  const auto message = [](std::vector<LinkPoint> points) {
    const std::string of_link = MessageOf<InputError>([&] { FitLink(points); });
    CHECK(MessageOf<InputError>([&] { FitChannel(points); }) == of_link);
    return of_link;
  };
  CHECK(message({}) == "link fit: 0 points of no size, expected at least 2 sizes");
  CHECK(message({{8, 1}, {8, 2}}) == "link fit: 2 points of one size, expected at least 2 sizes");
  CHECK(message({{8, 1}, {9, 1, 0}}) ==
        "link fit: 1 points of one size, expected at least 2 sizes");
  CHECK(message({{8, 1}, {16, 0}}) ==
        "link fit: 16 B in 0 ns (weight 1), expected a size >= 0, a time > 0 and a weight >= 0");
  CHECK(message({{-8, 1}, {16, 1}}).find("-8 B") != std::string::npos);
}

}  // namespace
