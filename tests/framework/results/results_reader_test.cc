#include "framework/results/results_reader.h"

#include <fstream>
#include <iterator>
#include <limits>

#include <doctest/doctest.h>
#include <hdf5.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

using namespace emplace;

namespace {

using emplace::testing::Contains;

namespace fs = std::filesystem;

TEST_CASE("everything that was written is read back") {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  Rng rng(1);
  std::vector<std::int64_t> ints;
  std::vector<double> doubles;
  std::vector<std::string> texts;
  for (int i = 0; i < 10'000; ++i) {  // long enough to be stored compressed
    ints.push_back(static_cast<std::int64_t>(rng()));
    doubles.push_back(Uniform01(rng) * 1e12);
    texts.push_back(std::string(UniformInt(rng, 9), 'x') + "\xc3\xa9");
  }
  {
    ResultsFile file(path);
    file.SetAttribute("/a/b", "text", std::string("caf\xc3\xa9 \"quoted\"\n"));
    file.SetAttribute("/a/b", "empty", std::string());
    file.SetAttribute("/a/b", "int", std::numeric_limits<std::int64_t>::min());
    file.SetAttribute("/a/b", "double", 0.1);
    file.WriteInts("/a/b/ints", ints);
    file.WriteDoubles("/a/b/doubles", doubles);
    file.WriteStrings("/a/b/texts", texts);
    file.WriteIntMatrix("/a/matrix", {1, 2, 3, 4, 5, 6}, 3);
    file.WriteIntMatrix("/a/no_rows", {}, 3);
    file.WriteInts("/a/none", {});
    file.WriteStrings("/a/no_texts", {});
    file.WriteTable("/a/table", {{"i", ints}, {"x", doubles}});
    file.Commit();
  }
  const ResultsReader reader(path);
  CHECK(reader.Text("/a/b", "text") == "caf\xc3\xa9 \"quoted\"\n");
  CHECK(reader.Text("/a/b", "empty") == "");
  CHECK(reader.Int("/a/b", "int") == std::numeric_limits<std::int64_t>::min());
  CHECK(reader.Double("/a/b", "double") == 0.1);
  CHECK(reader.Ints("/a/b/ints") == ints);
  CHECK(reader.Doubles("/a/b/doubles") == doubles);
  CHECK(reader.Strings("/a/b/texts") == texts);
  CHECK(reader.IntMatrix("/a/matrix") ==
        std::vector<std::vector<std::int64_t>>{{1, 2, 3}, {4, 5, 6}});
  CHECK(reader.IntMatrix("/a/no_rows").empty());
  CHECK(reader.Ints("/a/none").empty());
  CHECK(reader.Strings("/a/no_texts").empty());
  const std::vector<TableColumn> table = reader.Table("/a/table");
  REQUIRE(table.size() == 2);
  CHECK(table[0].name == "i");
  CHECK(std::get<0>(table[0].values) == ints);
  CHECK(table[1].name == "x");
  CHECK(std::get<1>(table[1].values) == doubles);

  CHECK(reader.Has("/a/b/ints"));
  CHECK(!reader.Has("/a/c/ints"));
  CHECK(reader.HasAttribute("/a/b", "int"));
  CHECK(!reader.HasAttribute("/a/b", "ints"));
  CHECK(!reader.HasAttribute("/c", "int"));
  CHECK(reader.Children("/") == std::vector<std::string>{"a"});
  CHECK(reader.Children("/a/b") == std::vector<std::string>{"doubles", "ints", "texts"});
  CHECK(reader.Children("/c").empty());
}

TEST_CASE("what is missing or of another type is named") {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  {
    ResultsFile file(path);
    file.SetAttribute("/g", "text", std::string("t"));
    file.SetAttribute("/g", "int", std::int64_t{1});
    file.WriteInts("/ints", {1});
    file.Commit();
  }
  const ResultsReader reader(path);
  const auto refused = [&](auto&& f, const std::string& place, const std::string& what) {
    const std::string message = testing::MessageOf<InputError>(f);
    CAPTURE(message);
    CHECK(message == path.string() + ": " + place + ": " + what);
  };
  refused([&] { reader.Text("/none", "x"); }, "/none", "is not in this results file");
  refused([&] { reader.Text("/g", "x"); }, "/g@x", "is not in this results file");
  refused([&] { reader.Text("/g", "int"); }, "/g@int", "expected a text");
  refused([&] { reader.Int("/g", "text"); }, "/g@text", "expected an integer");
  refused([&] { reader.Double("/g", "int"); }, "/g@int", "expected a floating-point number");
  refused([&] { reader.Ints("/g"); }, "/g", "expected a dataset, got a group");
  refused([&] { reader.Doubles("/ints"); }, "/ints", "expected floating-point numbers");
  refused([&] { reader.Strings("/ints"); }, "/ints", "expected texts");
  refused([&] { reader.Table("/ints"); }, "/ints", "expected a table");
  refused([&] { reader.IntMatrix("/ints"); }, "/ints", "expected integers in two dimensions");
  refused([&] { reader.Ints("/no/ints"); }, "/no/ints", "is not in this results file");
}

TEST_CASE("what is no results file is refused") {
  const testing::TempDir folder;
  const auto message = [](const fs::path& path) {
    return testing::MessageOf<InputError>([&] { ResultsReader reader(path); });
  };
  CHECK(Contains(message(folder / "none.h5"), "none.h5: "));
  CHECK(Contains(message(folder.path()), folder.path().string() + ": "));
  std::ofstream(folder / "text.h5") << "no HDF5 at all";
  CHECK(Contains(message(folder / "text.h5"), "text.h5: no results file of emplace"));
  std::ofstream(folder / "empty.h5");
  CHECK(Contains(message(folder / "empty.h5"), "empty.h5: no results file of emplace"));
  {
    ResultsFile file(folder / "other.h5");
    file.SetAttribute("/", "format", std::string("other"));
    file.Commit();
  }
  CHECK(Contains(message(folder / "other.h5"), "expected the attribute format"));
  {
    ResultsFile file(folder / "later.h5");
    file.SetAttribute("/", "version", std::int64_t{4});
    file.Commit();
  }
  CHECK(message(folder / "later.h5") ==
        (folder / "later.h5").string() +
            ": version: expected at most 3, got 4: made by a newer version of emplace");
  {
    ResultsFile file(folder / "older.h5");
    file.SetAttribute("/", "version", std::int64_t{2});
    file.Commit();
  }
  CHECK(message(folder / "older.h5") ==
        (folder / "older.h5").string() +
            ": version: expected 3, got 2: written by an older version of emplace; run it again");
}

TEST_CASE("a file can be extended, and parts of it replaced") {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  {
    ResultsFile file(path);
    file.WriteInts("/run/x", {1, 2});
    file.WriteInts("/verification/old", {3});
    file.Commit();
  }
  const ResultsReader before(path);
  {
    ResultsFile file(path, ResultsMode::kExtend);
    file.Remove("/verification");
    file.Remove("/never/there");
    file.WriteInts("/verification/new", {4});
    CHECK(!ResultsReader(path).Has("/verification/new"));  // not before the commit
    file.Commit();
  }
  const ResultsReader after(path);
  CHECK(after.Ints("/run/x") == std::vector<std::int64_t>{1, 2});
  CHECK(after.Ints("/verification/new") == std::vector<std::int64_t>{4});
  CHECK(!after.Has("/verification/old"));
  CHECK(before.Ints("/verification/old") == std::vector<std::int64_t>{3});  // as it was opened

  CHECK(Contains(testing::MessageOf<InputError>(
                     [&] { ResultsFile file(folder / "none.h5", ResultsMode::kExtend); }),
                 "none.h5: "));
}

TEST_CASE("a file cut off anywhere is refused, never a crash") {
  const testing::TempDir folder;
  {
    ResultsFile file(folder / "whole.h5");
    file.WriteStrings("/texts", {"a", "b"});
    file.Commit();
  }
  std::ifstream in(folder / "whole.h5", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t size = 0; size < whole.size(); size += 97) {
    std::ofstream(folder / "cut.h5", std::ios::binary) << whole.substr(0, size);
    const std::string message = testing::MessageOf<InputError>([&] {
      ResultsReader reader(folder / "cut.h5");
      reader.Strings("/texts");
    });
    CAPTURE(size);
    CHECK(Contains(message, "cut.h5: "));
  }
}

}  // namespace
