#include "experiments/run/run_bound.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/experiments/program_files.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("gap and proof of a placement") {
  const LowerBound bound{800, "work"};
  CHECK(*GapTo(bound, 1000) == doctest::Approx(0.25));
  CHECK(GapText(bound, 1000) == "25.0 %");
  CHECK_FALSE(IsOptimal(bound, 1000));
  CHECK(IsOptimal(bound, 800));
  CHECK(GapText(bound, 800) == "optimal");
  CHECK_FALSE(GapTo(bound, std::nullopt));
  CHECK_FALSE(IsOptimal(bound, std::nullopt));
  CHECK(GapText(bound, std::nullopt) == "-");
  CHECK(GapText({0, "work"}, 5) == "-");
  CHECK(IsOptimal({0, "work"}, 0));
}

TEST_CASE("the larger of two bounds, of equals the first") {
  CHECK(LargerOf({5, "a"}, {6, "b"}).method == "b");
  CHECK(LargerOf({7, "a"}, {6, "b"}).method == "a");
  CHECK(LargerOf({6, "a"}, {6, "b"}).method == "a");
}

TEST_CASE("written and read back") {
  const TempDir folder;
  ResultsFile file(folder / "r.h5");
  WriteBound(file, {800, "branch_and_bound"}, 900);
  file.Commit();
  {
    const ResultsReader reader(folder / "r.h5");
    CHECK(ReadBound(reader).value == 800);
    CHECK(ReadBound(reader).method == "branch_and_bound");
    CHECK(reader.Int("/problem", "optimal") == 0);
  }
  WriteBound(file, {900, "work"}, 900);
  file.Commit();
  CHECK(ResultsReader(folder / "r.h5").Int("/problem", "optimal") == 1);
  WriteBound(file, {900, "work"}, std::nullopt);
  file.Commit();
  CHECK(ResultsReader(folder / "r.h5").Int("/problem", "optimal") == 0);
  const std::string message = MessageOf<RunError>([&] { WriteBound(file, {901, "magic"}, 900); });
  CHECK(Contains(message,
                 "r.h5: its best placement takes 900 ns, less than the lower bound 901 ns "
                 "by magic"));
}

TEST_CASE("the bounds of a contracted problem are proven for what was searched") {
  ProblemBuilder exact = Gpus(2), searched = Gpus(2);
  exact.Op("a", {10});
  exact.Op("b", {10}, {0});
  searched.Op("ab", {20});
  searched.Op("c", {30}, {0});
  LoadedProblem problem;
  problem.exact = exact.Build();
  problem.searched = searched.Build();
  problem.simulate_groups = true;
  const ProblemBounds bounds = BoundProblem(problem);
  CHECK(bounds.simple.critical_path == 20);
  CHECK(bounds.proven.value == 50);
}

}  // namespace
