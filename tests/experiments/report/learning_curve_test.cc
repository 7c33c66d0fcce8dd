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
  curve.end.evaluations = 1 + UniformInt(rng, 30);
  double best = 1000;
  for (int i = 1 + UniformInt(rng, 4); i <= curve.end.evaluations; i += 1 + UniformInt(rng, 6)) {
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
      SummarizeCurves({{{{1, 90}, {3, 70}}, {3}}, {{{2, 80}, {6, 60}}, {6}}, {{{1, 50}}, {1}}});
  CHECK(band.at == std::vector<double>{1, 2, 3, 6});
  CHECK(band.median == std::vector<double>{90, 80, 70, 60});
  CHECK(band.least == std::vector<double>{50, 50, 50, 50});
  CHECK(band.most == std::vector<double>{kNone, 90, 80, 70});
}

TEST_CASE("two searches: the mean of both, and infinite while one of them has nothing") {
  const CurveBand band = SummarizeCurves({{{{1, 90}}, {4}}, {{{3, 80}}, {4}}});
  CHECK(band.at == std::vector<double>{1, 3, 4});
  CHECK(band.median == std::vector<double>{kNone, 85, 85});
  CHECK(SummarizeCurves({}).at.empty());
  CHECK(SummarizeCurves({{{}, {}}}).median == std::vector<double>{kNone});
}

TEST_CASE("the same searches over seconds and over seconds of hardware") {
  // first:  90 ns after 1 s (4 s of hardware), 70 ns after 3 s (9 s), ends at 5 s (20 s)
  // second: 80 ns after 2 s (4 s of hardware), ends at 2.5 s (6 s)
  // after [s]       1    2  2.5    3    5
  // first          90   90   90   70   70
  // second          -   80   80   80   80
  const std::vector<SearchCurve> curves = {{{{1, 90, 1, 4}, {7, 70, 3, 9}}, {9, 0, 5, 20}},
                                           {{{1, 80, 2, 4}}, {2, 0, 2.5, 6}}};
  const CurveBand seconds = SummarizeCurves(curves, CurveAxis::kSeconds);
  CHECK(seconds.at == std::vector<double>{1, 2, 2.5, 3, 5});
  CHECK(seconds.median == std::vector<double>{kNone, 85, 85, 75, 75});
  const CurveBand hardware = SummarizeCurves(curves, CurveAxis::kHardwareSeconds);
  CHECK(hardware.at == std::vector<double>{4, 6, 9, 20});
  CHECK(hardware.least == std::vector<double>{80, 80, 70, 70});
  CHECK(SummarizeCurves({{{}, {}}}, CurveAxis::kSeconds).at == std::vector<double>{0});
}

TEST_CASE("no improvement is lost: equal to asking every search at every evaluation") {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<SearchCurve> curves;
    for (int i = 1 + UniformInt(rng, 5); i > 0; --i) curves.push_back(RandomCurve(rng));
    const CurveBand band = SummarizeCurves(curves);
    std::int64_t longest = 0;
    for (const SearchCurve& curve : curves) longest = std::max(longest, curve.end.evaluations);
    REQUIRE(band.at.back() == static_cast<double>(longest));
    for (auto at = static_cast<std::int64_t>(band.at.front()); at <= longest; ++at) {
      std::vector<double> best;
      for (const SearchCurve& curve : curves) best.push_back(BestAfter(curve, at));
      std::sort(best.begin(), best.end());
      const size_t i = static_cast<size_t>(
          std::upper_bound(band.at.begin(), band.at.end(), static_cast<double>(at)) -
          band.at.begin() - 1);
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
