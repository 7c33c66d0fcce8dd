#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <boost/random/normal_distribution.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/quantile.h"
#include "framework/base/random.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/fitted_costs.h"
#include "framework/cost/op_kind.h"
#include "tests/support/sanitizers.h"

using namespace emplace;

namespace {

struct Sample {
  double flops = 0;
  std::int64_t bytes = 0;
  double nanos = 0;
};

// Signatures that are all of structures of their own.
std::string Signature(size_t i) {
  return fmt::format("op{:06}", i);
}

// One device kind that has timed aten.mm with these results.
CostTable MakeTable(const std::vector<Sample>& samples, const std::string& kind = "aten.mm") {
  CostTable table;
  table.kinds.resize(1);
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto& [flops, bytes, nanos] = samples[i];
    table.kinds[0].ops.push_back({.signature = Signature(i),
                                  .kind = kind,
                                  .op_class = ClassifyOp(kind),
                                  .flops = flops,
                                  .bytes = bytes,
                                  .isolated = Timing{nanos, nanos, nanos, 10}});
  }
  return table;
}

RooflineFit Fit(const std::vector<Sample>& samples) {
  CostTable table = MakeTable(samples);
  FitLadder(table);
  REQUIRE(table.kinds[0].by_op.count("aten.mm") == 1);
  REQUIRE(table.kinds[0].by_class.count("matmul") == 1);
  CHECK(table.kinds[0].by_class.at("matmul") == table.kinds[0].by_op.at("aten.mm"));
  return table.kinds[0].by_op.at("aten.mm");
}

double LogUniform(Rng& rng, double low, double high) {
  return low * std::pow(high / low, Uniform01(rng));
}

// Sizes over five decades, timed exactly as `truth` says up to a relative error.
std::vector<Sample> Synthetic(Rng& rng, const RooflineFit& truth, int count, double noise) {
  boost::random::normal_distribution<double> normal(0, noise);
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    Sample s{LogUniform(rng, 1e5, 1e10), static_cast<std::int64_t>(LogUniform(rng, 1e4, 1e9)), 0};
    s.nanos = Predict(truth, s.flops, double(s.bytes)) * std::exp(normal(rng));
    samples.push_back(s);
  }
  return samples;
}

TEST_CASE("a prediction by hand") {
  const RooflineFit fit{
      .overhead_ns = 1000, .flops_per_second = 1e12, .flops_half = 5e5, .bytes_per_second = 1e11};
  // 1 us + (1.5e6 + 0.5e6) / 1e12 = 1 us + 2 us against 1e5 / 1e11 = 1 us.
  CHECK(Predict(fit, 1.5e6, 1e5) == doctest::Approx(3000));
  // 1e6 / 1e11 = 10 us.
  CHECK(Predict(fit, 1.5e6, 1e6) == doctest::Approx(11000));
  CHECK(Predict(fit, 0, 1e5) == doctest::Approx(2000));  // no FLOPs: no ramp of theirs either
  CHECK(Predict(fit, 0, 0) == 1000);
  CHECK(Predict({.overhead_ns = 7}, 1e9, 1e9) == 7);  // rates of 0: nothing known
}

TEST_CASE("known parameters are recovered, exactly without noise and closely with it" *
          doctest::skip(testing::kUnderSanitizers)) {
  Rng rng(11);
  for (int i = 0; i < 20 * EMPLACE_TEST_SCALE; ++i) {
    RooflineFit truth{.overhead_ns = LogUniform(rng, 1e3, 1e4),
                      .flops_per_second = LogUniform(rng, 1e11, 1e13),
                      .bytes_per_second = LogUniform(rng, 1e10, 1e12)};
    (i % 2 == 0 ? truth.flops_half : truth.bytes_half) =
        truth.overhead_ns * 1e-9 * (i % 2 == 0 ? truth.flops_per_second : truth.bytes_per_second);
    CAPTURE(i);
    // All of it but the numbers of ramps, which the few small ops of the other kind decide. They
    // decide the overhead, too: with noise it is known least.
    const auto check = [&](const RooflineFit& fit, double tolerance) {
      CHECK(fit.overhead_ns == doctest::Approx(truth.overhead_ns).epsilon(4 * tolerance));
      CHECK(fit.flops_per_second == doctest::Approx(truth.flops_per_second).epsilon(tolerance));
      CHECK(fit.bytes_per_second == doctest::Approx(truth.bytes_per_second).epsilon(tolerance));
    };
    const RooflineFit exact = Fit(Synthetic(rng, truth, 100, 0));
    check(exact, 1e-3);
    CHECK(exact.flops_half == doctest::Approx(truth.flops_half).epsilon(1e-2));
    CHECK(exact.bytes_half == doctest::Approx(truth.bytes_half).epsilon(1e-2));
    CHECK(exact.error < 1e-3);
    CHECK(exact.samples == 100);
    const RooflineFit noisy = Fit(Synthetic(rng, truth, 300, 0.03));
    check(noisy, 0.05);
    // Half of normal errors are below 0.67 standard deviations, nine of ten below 1.64.
    CHECK(noisy.error == doctest::Approx(0.67 * 0.03).epsilon(0.3));
    CHECK(noisy.error_p90 == doctest::Approx(1.64 * 0.03).epsilon(0.3));
  }
}

TEST_CASE("what falls out of the caches is found, and nothing where all is alike") {
  Rng rng(16);
  const RooflineFit truth{.overhead_ns = 500,
                          .flops_per_second = 1e12,
                          .bytes_per_second = 2e11,
                          .spill_bytes = 3e6,
                          .spill_bytes_per_second = 2e10};
  // 500 ns + (1e7 - 3e6) / 20 GB/s = 500 ns + 350 us against 1e7 / 200 GB/s = 50 us.
  CHECK(Predict(truth, 0, 1e7) == doctest::Approx(350500));
  CHECK(Predict(truth, 0, 1e6) == doctest::Approx(5500));
  for (const double noise : {0.0, 0.03}) {
    std::vector<Sample> samples = Synthetic(rng, truth, 60, noise);
    RooflineFit idle = truth;  // and as many ops that only move bytes
    idle.flops_per_second = 0;
    for (Sample s : Synthetic(rng, idle, 120, noise)) {
      s.flops = 0;
      samples.push_back(s);
    }
    const RooflineFit fit = Fit(samples);
    const double tolerance = noise > 0 ? 0.1 : 1e-2;
    CHECK(fit.bytes_per_second == doctest::Approx(truth.bytes_per_second).epsilon(tolerance));
    CHECK(fit.flops_per_second == doctest::Approx(truth.flops_per_second).epsilon(tolerance));
    CHECK(fit.spill_bytes == doctest::Approx(truth.spill_bytes).epsilon(tolerance));
    CHECK(fit.spill_bytes_per_second ==
          doctest::Approx(truth.spill_bytes_per_second).epsilon(tolerance));
    CHECK(fit.error < 0.03);
  }
  const RooflineFit plain{.overhead_ns = 500, .flops_per_second = 1e12, .bytes_per_second = 2e11};
  int found = 0;
  for (int i = 0; i < 40; ++i) {
    found += Fit(Synthetic(rng, plain, 10 + i, 0.05)).spill_bytes_per_second > 0;
  }
  CHECK(found <= 2);
}

TEST_CASE("a few ops that the roofline does not describe do not bend it") {
  Rng rng(12);
  const RooflineFit truth{.overhead_ns = 3000, .flops_per_second = 1e12, .bytes_per_second = 1e11};
  std::vector<Sample> samples = Synthetic(rng, truth, 200, 0.02);
  for (size_t i = 0; i < samples.size(); i += 8) samples[i].nanos *= 10;
  const RooflineFit fit = Fit(samples);
  CHECK(fit.overhead_ns == doctest::Approx(truth.overhead_ns).epsilon(0.05));
  CHECK(fit.flops_per_second == doctest::Approx(truth.flops_per_second).epsilon(0.05));
  CHECK(fit.bytes_per_second == doctest::Approx(truth.bytes_per_second).epsilon(0.05));
  CHECK(fit.error < 0.03);
  CHECK(fit.error_p90 > 0.5);  // and they are told
}

TEST_CASE("leave-one-out errors are those of refitting without each signature") {
  Rng rng(13);
  const RooflineFit truth{.overhead_ns = 3000, .flops_per_second = 1e12, .bytes_per_second = 1e11};
  int with_neighbours = 0;
  using Counts = std::vector<int>;
  for (const int count :
       testing::kUnderSanitizers ? Counts{5, 20} : Counts{5, 8, 12, 20, 24, 28, 31}) {
    std::vector<Sample> samples = Synthetic(rng, truth, count, 0.1);
    if (count >= 20) {  // what is small is slow: neighbours tell it
      for (Sample& s : samples) s.nanos *= s.flops < 1e7 ? 3 : 1;
    }
    std::vector<double> errors;
    for (int out = 0; out < count; ++out) {
      CostTable others = MakeTable(samples);
      others.kinds[0].ops.erase(others.kinds[0].ops.begin() + out);
      FitLadder(others);
      const double predicted = FittedCosts(others.kinds[0], true)
                                   .Find("aten.mm",
                                         OpClass::kMatmul,
                                         Signature(out),
                                         samples[out].flops,
                                         double(samples[out].bytes))
                                   ->nanos;
      errors.push_back(std::abs(predicted - samples[out].nanos) / samples[out].nanos);
    }
    const RooflineFit fit = Fit(samples);
    CHECK(fit.error == doctest::Approx(Quantile(errors, 0.5)));
    CHECK(fit.error_p90 == doctest::Approx(Quantile(errors, 0.9)));
    with_neighbours += fit.neighbour_length > 0;
  }
  CHECK(with_neighbours > 0);
}

TEST_CASE("the fit is no worse than a fine search around the truth" *
          doctest::skip(testing::kUnderSanitizers)) {
  // Sum of Huber's losses of the log errors, as the fit minimises it.
  const auto loss = [](const std::vector<Sample>& samples, const RooflineFit& fit) {
    double sum = 0;
    for (const Sample& s : samples) {
      const double e = std::abs(std::log(Predict(fit, s.flops, double(s.bytes)) / s.nanos));
      sum += e < 0.05 ? e * e / 2 : 0.05 * (e - 0.025);
    }
    return sum;
  };
  Rng rng(14);
  for (int i = 0; i < 10; ++i) {
    const RooflineFit truth{.overhead_ns = LogUniform(rng, 1e3, 1e5),
                            .flops_per_second = LogUniform(rng, 1e11, 1e13),
                            .bytes_per_second = LogUniform(rng, 1e10, 1e12)};
    const std::vector<Sample> samples = Synthetic(rng, truth, 30, 0.15);
    double best = loss(samples, truth);
    for (int trial = 0; trial < 2000; ++trial) {
      RooflineFit other = truth;
      for (double* value : {&other.overhead_ns, &other.flops_per_second, &other.bytes_per_second}) {
        *value *= LogUniform(rng, 0.7, 1.4);
      }
      other.flops_half = Uniform01(rng) < 0.5 ? 0 : LogUniform(rng, 1e3, 1e7);
      best = std::min(best, loss(samples, other));
    }
    CHECK(loss(samples, Fit(samples)) <= best * 1.0001);
  }
}

void CheckSane(const RooflineFit& fit) {
  for (const double value : {fit.overhead_ns,
                             fit.flops_per_second,
                             fit.flops_half,
                             fit.bytes_per_second,
                             fit.bytes_half,
                             fit.spill_bytes,
                             fit.spill_bytes_per_second,
                             fit.error,
                             fit.error_p90}) {
    CHECK(std::isfinite(value));
    CHECK(value >= 0);
  }
}

TEST_CASE("degenerate measurements give fits that say what was measured") {
  SUBCASE("all of one size: the middle time") {
    const RooflineFit fit =
        Fit({{1e6, 1000, 90}, {1e6, 1000, 100}, {1e6, 1000, 100}, {1e6, 1000, 115}});
    CheckSane(fit);
    CHECK(Predict(fit, 1e6, 1000) == doctest::Approx(100).epsilon(0.03));
  }
  SUBCASE("no FLOPs: t = 50 + B / 10") {
    const RooflineFit fit = Fit({{0, 100, 60}, {0, 1000, 150}, {0, 5000, 550}, {0, 100000, 10050}});
    CheckSane(fit);
    CHECK(fit.flops_per_second == 0);
    CHECK(fit.overhead_ns == doctest::Approx(50).epsilon(0.01));
    CHECK(fit.bytes_per_second == doctest::Approx(1e10).epsilon(0.01));
    CHECK(fit.bytes_half == 0);
  }
  SUBCASE("no bytes") {
    const RooflineFit fit = Fit({{100, 0, 60}, {1000, 0, 150}, {5000, 0, 550}, {100000, 0, 10050}});
    CheckSane(fit);
    CHECK(fit.bytes_per_second == 0);
    CHECK(fit.overhead_ns == doctest::Approx(50).epsilon(0.01));
    CHECK(fit.flops_per_second == doctest::Approx(1e10).epsilon(0.01));
  }
  SUBCASE("neither") {
    const RooflineFit fit = Fit({{0, 0, 90}, {0, 0, 100}, {0, 0, 101}, {0, 0, 5000}});
    CheckSane(fit);
    CHECK(fit.flops_per_second == 0);
    CHECK(fit.bytes_per_second == 0);
    CHECK(Predict(fit, 0, 0) == doctest::Approx(102).epsilon(0.05));
  }
  SUBCASE("some of each") {
    const RooflineFit fit =
        Fit({{0, 0, 10}, {1e6, 0, 1010}, {0, 1000, 110}, {2e6, 0, 2010}, {0, 2000, 210}});
    CheckSane(fit);
    CHECK(Predict(fit, 0, 0) == doctest::Approx(10).epsilon(0.05));
    CHECK(Predict(fit, 4e6, 10) == doctest::Approx(4010).epsilon(0.05));
    CHECK(Predict(fit, 10, 4000) == doctest::Approx(410).epsilon(0.05));
  }
  SUBCASE("times that do not grow") {
    const RooflineFit fit =
        Fit({{1, 1, 100}, {1e3, 1000, 100}, {1e6, 1000000, 100}, {1e9, 10, 100}});
    CheckSane(fit);
    CHECK(Predict(fit, 1e3, 1e3) == doctest::Approx(100).epsilon(0.01));
  }
}

TEST_CASE("whatever was measured, a fit is finite, not negative, and grows with the work") {
  Rng rng(17);
  const int rounds = testing::kUnderSanitizers ? 12 : 60 * EMPLACE_TEST_SCALE;
  for (int i = 0; i < rounds; ++i) {
    std::vector<Sample> samples(4 + UniformInt(rng, i % 10 == 0 ? 250 : 20));
    const bool grows = UniformInt(rng, 2) == 0;
    for (Sample& s : samples) {
      if (UniformInt(rng, 3) > 0) s.flops = LogUniform(rng, 1, 1e12);
      if (UniformInt(rng, 3) > 0) s.bytes = static_cast<std::int64_t>(LogUniform(rng, 1, 1e10));
      s.nanos = grows ? LogUniform(rng, 0.5, 2) * (10 + 0.1 * double(s.bytes))
                      : LogUniform(rng, 1e-2, 1e10);
    }
    CAPTURE(i);
    const RooflineFit fit = Fit(samples);
    CheckSane(fit);
    for (int trial = 0; trial < 20; ++trial) {
      const double flops = LogUniform(rng, 1, 1e12), bytes = LogUniform(rng, 1, 1e10);
      const double nanos = Predict(fit, flops, bytes);
      CHECK(std::isfinite(nanos));
      CHECK(nanos >= fit.overhead_ns);
      CHECK(Predict(fit, flops * 2, bytes) >= nanos);
      CHECK(Predict(fit, flops, bytes * 2) >= nanos);
    }
  }
}

TEST_CASE("a rate that never decides is at least the greatest one reached") {
  // Memory decides: 100 ns + B / 1 GB/s; the most intense op reaches 1e6 / 1100 ns.
  const RooflineFit fit =
      Fit({{10, 1000, 1100}, {1e3, 2000, 2100}, {1e6, 1000, 1100}, {1e3, 100000, 100100}});
  CHECK(fit.overhead_ns == doctest::Approx(100).epsilon(0.01));
  CHECK(fit.flops_per_second >= 1e6 / 1100e-9);
  CHECK(Predict(fit, 1e6, 1000) == doctest::Approx(1100).epsilon(0.01));
}

TEST_CASE("the typical rate decides for FLOPs where no op of the kind tells it") {
  // Convolutions at 100 GFLOP/s; products of a batch of one, whose FLOPs are half their bytes, at
  // 10 GB/s: 5 GFLOP/s, which their FLOPs explain as well as their bytes.
  std::vector<Sample> samples;
  for (int i = 1; i <= 6; ++i) {
    samples.push_back({1e9 * i, 1000000, 1e7 * i + 1000});
    samples.push_back({0.5e6 * i, 1000000 * i, 1e5 * i + 1000});
  }
  CostTable table = MakeTable(samples);
  for (size_t i = 0; i < samples.size(); i += 2) {
    table.kinds[0].ops[i].kind = "aten.convolution";
    table.kinds[0].ops[i].op_class = OpClass::kConvolution;
  }
  FitLadder(table);
  const RooflineFit& fit = table.kinds[0].by_op.at("aten.mm");
  // A batch of 1000 has as many bytes, and 1000 times the FLOPs: 5e9 / 100 GFLOP/s.
  CHECK(Predict(fit, 5e9, 1e7) == doctest::Approx(5e7).epsilon(0.02));
  CHECK(Predict(fit, 1e6, 2e6) == doctest::Approx(2.01e5).epsilon(0.02));
}

TEST_CASE("neighbours are heard where they tell more than the fit") {
  // Products whose rate falls with the inner dimension k in a way that FLOPs and bytes do not tell:
  // half as fast with every factor of four beyond 256.
  const auto make = [](bool falls) {
    CostTable table;
    table.kinds.resize(1);
    for (const int m : {128, 256, 512, 1024}) {
      for (const int n : {128, 256, 512, 1024}) {
        for (const int k : {64, 256, 1024, 4096}) {
          const double flops = 2.0 * m * n * k;
          const double slower = falls && k > 256 ? k / 1024 * 2.0 : 1;
          const double nanos = 1000 + flops / 50 * (slower > 0 ? slower : 1);
          table.kinds[0].ops.push_back(
              {.signature = fmt::format(
                   "aten.mm(f32[{},{}], f32[{},{}]) -> f32[{},{}] {{}}", m, k, k, n, m, n),
               .kind = "aten.mm",
               .op_class = OpClass::kMatmul,
               .flops = flops,
               .bytes = std::int64_t{4} * (m * k + k * n + m * n),
               .isolated = Timing{nanos, nanos, nanos, 10}});
        }
      }
    }
    auto& ops = table.kinds[0].ops;
    std::sort(ops.begin(), ops.end(), [](const OpMeasurement& a, const OpMeasurement& b) {
      return a.signature < b.signature;
    });
    FitLadder(table);
    return table;
  };
  const CostTable plain = make(false);
  CHECK(plain.kinds[0].by_op.at("aten.mm").neighbour_length == 0);
  CHECK(plain.kinds[0].by_op.at("aten.mm").error < 0.001);
  const CostTable falling = make(true);
  const RooflineFit& fit = falling.kinds[0].by_op.at("aten.mm");
  CHECK(fit.neighbour_length > 0);
  CHECK(fit.error < 0.15);
  std::vector<double> without;
  for (const OpMeasurement& op : falling.kinds[0].ops) {
    const double nanos = Predict(fit, op.flops, double(op.bytes));
    without.push_back(std::abs(nanos / op.isolated->median - 1));
  }
  CHECK(fit.error < 0.5 * Median(without));

  // Between sizes that were measured and beyond them: no less time for more work.
  FittedCosts costs(falling.kinds[0], true);
  double last = 0;
  for (int n = 64; n <= 4096; n += 64) {
    const double nanos =
        costs
            .Find("aten.mm",
                  OpClass::kMatmul,
                  fmt::format("aten.mm(f32[512,1024], f32[1024,{}]) -> f32[512,{}] {{}}", n, n),
                  2.0 * 512 * 1024 * n,
                  4.0 * (512 * 1024 + 1024 * n + 512 * n))
            ->nanos;
    CAPTURE(n);
    CHECK(nanos >= last);
    last = nanos;
  }
}

TEST_CASE("who is fitted: enough signatures, no proxies, no views, unknown ops by kind only") {
  const std::vector<Sample> samples{{0, 100, 10}, {0, 200, 20}, {0, 400, 40}, {0, 800, 80}};
  const auto fits = [&](const std::string& kind, size_t count, bool is_proxy = false) {
    CostTable table = MakeTable({samples.begin(), samples.begin() + count}, kind);
    for (OpMeasurement& op : table.kinds[0].ops) op.is_proxy = is_proxy;
    table.kinds[0].by_op["stale"] = {};
    table.kinds[0].by_class["copy"] = {};
    FitLadder(table);
    return std::pair(table.kinds[0].by_op.size(), table.kinds[0].by_class.size());
  };
  CHECK(fits("aten.add", 4) == std::pair<size_t, size_t>(1, 1));
  CHECK(fits("aten.add", 3) == std::pair<size_t, size_t>(0, 1));
  CHECK(fits("aten.add", 2) == std::pair<size_t, size_t>(0, 0));
  CHECK(fits("aten.add", 4, true) == std::pair<size_t, size_t>(0, 0));
  CHECK(fits("aten.view", 4) == std::pair<size_t, size_t>(0, 0));
  CHECK(fits("frobnicate", 4) == std::pair<size_t, size_t>(1, 0));
  CostTable empty;
  FitLadder(empty);
  CHECK(empty.kinds.empty());
}

TEST_CASE("a class is fitted over all its kinds, from the timings that are wanted") {
  CostTable table = MakeTable({{0, 1000, 10}, {0, 2000, 20}, {0, 4000, 40}, {0, 8000, 80}});
  auto& ops = table.kinds[0].ops;
  ops[0].kind = ops[1].kind = "aten.bmm";
  for (OpMeasurement& op : ops) {  // twice as slow in whole steps
    const double nanos = 2 * op.isolated->median;
    op.in_situ = Timing{nanos, nanos, nanos, 5};
  }
  ops[3].isolated->median = 0;  // faster than the clock: no time to fit
  FitLadder(table);
  CHECK(table.kinds[0].by_op.empty());
  CHECK(table.kinds[0].by_class.at("matmul").samples == 4);
  CHECK(Predict(table.kinds[0].by_class.at("matmul"), 0, 3000) ==
        doctest::Approx(60).epsilon(0.01));
  FitLadder(table, false);
  CHECK(table.kinds[0].by_class.at("matmul").samples == 3);
  CHECK(Predict(table.kinds[0].by_class.at("matmul"), 0, 3000) ==
        doctest::Approx(30).epsilon(0.01));
}

}  // namespace
