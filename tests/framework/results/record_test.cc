#include "framework/results/record.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/results/record_json.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Point {
  int x = 0;
  double y = 0;
  bool is_far = false;
  void Visit(RecordVisitor& v) {
    v.Field("x", x);
    v.Field("y", y);
    v.Field("is_far", is_far);
  }
};

struct Ends {
  double low = 0, high = 0;
  void Visit(RecordVisitor& v) {
    v.Field("low", low);
    v.Field("high", high);
  }
};

struct Drawing {
  std::string name;
  std::optional<std::int64_t> ink;
  std::optional<Ends> ends;   // beside the name
  std::optional<Point> best;  // in a group
  std::vector<double> lengths;
  std::vector<std::vector<std::int64_t>> grid = {{1, 2}, {3, 4}};
  std::vector<Point> points;
  UpdateTable updates;
  LongText story;
  void Visit(RecordVisitor& v) {
    v.Field("name", name);
    v.Field("ink", ink);
    v.Part("high", ends);
    v.Group("found/best", best);
    v.Field("lengths", lengths);
    v.Field("grid", grid);
    v.Rows("points", points);
    v.Field("updates", updates);
    v.Field("story", story);
  }
};

Drawing ThereAndBack(const Drawing& drawing) {
  const TempDir folder;
  ResultsFile file(folder / "r.h5");
  WriteRecord(file, "/drawing", drawing);
  file.Commit();
  return ReadRecord<Drawing>(ResultsReader(folder / "r.h5"), "/drawing");
}

TEST_CASE("what is written is read back") {
  Drawing full{.name = "caf\u00e9",
               .ink = 7,
               .ends = Ends{0.25, 0.5},
               .best = Point{3, -0.5, true},
               .lengths = {1.5, 2.5},
               .points = {{1, 0.5, false}, {2, 1.5, true}},
               .updates = {{"a", "b"}, {1, 2, 3, 4}},
               .story = {"once"}};
  const Drawing read = ThereAndBack(full);
  CHECK(read.name == full.name);
  CHECK(read.ink == 7);
  CHECK(read.ends.value().high == 0.5);
  CHECK(read.best.value().x == 3);
  CHECK(read.best->is_far);
  CHECK(read.lengths == full.lengths);
  CHECK(read.grid == full.grid);
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[1].y == 1.5);
  CHECK_FALSE(read.points[0].is_far);
  CHECK(read.updates.columns == full.updates.columns);
  CHECK(read.updates.values == full.updates.values);
  CHECK(read.story.text == "once");

  const Drawing bare = ThereAndBack({.name = "n"});
  CHECK_FALSE(bare.ink);
  CHECK_FALSE(bare.ends);
  CHECK_FALSE(bare.best);
  CHECK(bare.points.empty());
  CHECK(bare.updates.columns.empty());
  CHECK(bare.story.text.empty());
}

TEST_CASE("what does not fit is named with file and place") {
  const TempDir folder;
  const auto message = [&](const std::function<void(ResultsFile&)>& change) {
    ResultsFile file(folder / "r.h5");
    WriteRecord(file, "/d", Drawing{.points = {{}}});
    change(file);
    file.Commit();
    return MessageOf<InputError>(
        [&] { ReadRecord<Drawing>(ResultsReader(folder / "r.h5"), "/d"); });
  };
  const std::string name = (folder / "r.h5").string();
  CHECK(message([](auto& file) { file.SetAttribute("/d", "name", 1.5); }) ==
        name + ": /d@name: expected a text");
  CHECK(message([](auto& file) { file.Remove("/d/lengths"); }) ==
        name + ": /d/lengths: is not in this results file");
  CHECK(message([](auto& file) {
          file.WriteTable("/d/points", {{"x", std::vector<double>{1}}});
        }) == name + ": /d/points: has no column \"x\" of the expected type");
  CHECK(message([](auto& file) {
          file.WriteStrings("/d/story", {"a", "b"});
        }) == name + ": /d/story: expected one text");
  // A part of which the one value is there that says so.
  CHECK(message([](auto& file) { file.SetAttribute("/d", "high", 1.0); }) ==
        name + ": /d@low: is not in this results file");
}

TEST_CASE("JSON of single values, in their order") {
  Json json = {{"first", 1}};
  AppendJson(json, Point{2, std::numeric_limits<double>::infinity(), true});
  CHECK(json.dump() == R"({"first":1,"x":2,"y":null,"is_far":true})");
}

TEST_CASE("names and types for the page") {
  using Types = std::map<std::string, std::string>;
  CHECK(DescribeRecord<Drawing>("/drawing") == Types{{"/drawing@name", "text"},
                                                     {"/drawing@ink", "integer"},
                                                     {"/drawing@low", "number"},
                                                     {"/drawing@high", "number"},
                                                     {"/drawing/found/best@x", "integer"},
                                                     {"/drawing/found/best@y", "number"},
                                                     {"/drawing/found/best@is_far", "integer"},
                                                     {"/drawing/lengths", "numbers"},
                                                     {"/drawing/grid", "integers"},
                                                     {"/drawing/points", "table"},
                                                     {"/drawing/points[x]", "integer"},
                                                     {"/drawing/points[y]", "number"},
                                                     {"/drawing/points[is_far]", "integer"},
                                                     {"/drawing/updates", "table"},
                                                     {"/drawing/updates[<column>]", "number"},
                                                     {"/drawing/story", "texts"}});
}

}  // namespace
