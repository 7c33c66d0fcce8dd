#include "experiments/report/learning_curve.h"

#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "framework/base/random.h"

using namespace emplace;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

SearchCurve RandomCurve(Rng& rng) {
  SearchCurve curve;
  curve.evaluations = 1 + UniformInt(rng, 30);
  double best = 1000;
  for (int i = 1 + UniformInt(rng, 4); i <= curve.evaluations; i += 1 + UniformInt(rng, 6)) {
    best -= 1 + UniformInt(rng, 9);
    curve.steps.push_back({i, best});
  }
  return curve;
}

// The best of `curve` after `evaluation`, looked up in the plainest way.
double BestAfter(const SearchCurve& curve, std::int64_t evaluation) {
  double best = kNone;
  for (const BestSoFar& step : curve.steps) {
    if (step.evaluations <= evaluation) best = std::min(best, step.best_ns);
  }
  return best;
}

TEST_CASE("median and range of step functions") {
  // after      1    2    3    5    6
  // first     90   90   70   70   70   ends at 3
  // second     -   80   80   80   60
  // third     50   50   50   50   50   ends at 1
  const CurveBand band =
      SummarizeCurves({{{{1, 90}, {3, 70}}, 3}, {{{2, 80}, {6, 60}}, 6}, {{{1, 50}}, 1}});
  CHECK(band.evaluations == std::vector<std::int64_t>{1, 2, 3, 6});
  CHECK(band.median == std::vector<double>{90, 80, 70, 60});
  CHECK(band.least == std::vector<double>{50, 50, 50, 50});
  CHECK(band.most == std::vector<double>{kNone, 90, 80, 70});
}

TEST_CASE("two searches: the mean of both, and infinite while one of them has nothing") {
  const CurveBand band = SummarizeCurves({{{{1, 90}}, 4}, {{{3, 80}}, 4}});
  CHECK(band.evaluations == std::vector<std::int64_t>{1, 3, 4});
  CHECK(band.median == std::vector<double>{kNone, 85, 85});
  CHECK(SummarizeCurves({}).evaluations.empty());
  CHECK(SummarizeCurves({{{}, 0}}).median == std::vector<double>{kNone});
}

TEST_CASE("no improvement is lost: equal to asking every search at every evaluation") {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<SearchCurve> curves;
    for (int i = 1 + UniformInt(rng, 5); i > 0; --i) curves.push_back(RandomCurve(rng));
    const CurveBand band = SummarizeCurves(curves);
    std::int64_t longest = 0;
    for (const SearchCurve& curve : curves) longest = std::max(longest, curve.evaluations);
    REQUIRE(band.evaluations.back() == longest);
    for (std::int64_t at = band.evaluations.front(); at <= longest; ++at) {
      std::vector<double> best;
      for (const SearchCurve& curve : curves) best.push_back(BestAfter(curve, at));
      std::sort(best.begin(), best.end());
      const size_t i = static_cast<size_t>(
          std::upper_bound(band.evaluations.begin(), band.evaluations.end(), at) -
          band.evaluations.begin() - 1);
      CHECK(band.least[i] == best.front());
      CHECK(band.most[i] == best.back());
      const size_t half = best.size() / 2;
      const double upper = best[half], lower = best[best.size() % 2 == 1 ? half : half - 1];
      CHECK(band.median[i] == (upper == kNone ? kNone : (lower + upper) / 2));
    }
  }
}

TEST_CASE("thinning keeps the first and the last and never invents a step") {
  std::vector<BestSoFar> steps;
  for (int i = 1; i <= 5000; ++i) steps.push_back({i, 10000.0 - i});
  const std::vector<BestSoFar> thin = ThinSteps(steps, 300);
  CHECK(thin.size() <= 301);
  CHECK(thin.size() > 200);
  CHECK(thin.front().evaluations == 1);
  CHECK(thin.back().evaluations == 5000);
  for (size_t i = 0; i < thin.size(); ++i) {
    CHECK(thin[i].best_ns == 10000.0 - static_cast<double>(thin[i].evaluations));
    if (i > 0) CHECK(thin[i - 1].evaluations < thin[i].evaluations);
  }
  CHECK(ThinSteps(thin, 1000).size() == thin.size());
}

}  // namespace
