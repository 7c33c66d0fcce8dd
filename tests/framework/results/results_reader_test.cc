#include "framework/results/results_reader.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <thread>

#include <doctest/doctest.h>
#include <hdf5.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/random.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"
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
  CHECK(Contains(message(folder / "text.h5"), "text.h5: not a results file of emplace"));
  std::ofstream(folder / "empty.h5");
  CHECK(Contains(message(folder / "empty.h5"), "empty.h5: not a results file of emplace"));
  {
    ResultsFile file(folder / "other.h5");
    file.SetAttribute("/", "format", std::string("other"));
    file.Commit();
  }
  CHECK(Contains(message(folder / "other.h5"), "expected the attribute format"));
  {
    ResultsFile file(folder / "later.h5");
    file.SetAttribute("/", "version", std::int64_t{5});
    file.Commit();
  }
  CHECK(message(folder / "later.h5") ==
        (folder / "later.h5").string() +
            ": version: expected at most 4, got 5: made by a newer version of emplace");
  {
    ResultsFile file(folder / "older.h5");
    file.SetAttribute("/", "version", std::int64_t{3});
    file.Commit();
  }
  CHECK(message(folder / "older.h5") ==
        (folder / "older.h5").string() +
            ": version: expected 4, got 3: written by an older version of emplace; run it again");
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

// What one function of HDF5 makes of a sealed file.
void ChangeByHdf5(const fs::path& path, const std::function<void(hid_t file)>& change) {
  const std::string image = emplace::internal::ReadResultsImage(path);
  std::ofstream(path, std::ios::binary) << image;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  REQUIRE(file >= 0);
  change(file);
  H5Fclose(file);
  const std::string changed = ReadFile(path);
  std::ofstream(path, std::ios::binary) << changed << emplace::internal::ChecksumLine(changed);
}

TEST_CASE("a file that is extended keeps all that can be written") {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5", copy = folder / "copy.h5";
  const std::vector<std::int64_t> many(20'000, 7);  // in chunks
  {
    ResultsFile file(path);
    file.SetAttribute("/", "text", std::string("t\n\xc3\xa9"));
    file.SetAttribute("/g/h", "int", std::int64_t{-1});
    file.SetAttribute("/g/h", "empty", std::string());
    file.AddGroup("/nothing");
    file.WriteInts("/g/ints", many);
    file.SetAttribute("/g/ints", "unit", 0.25);
    file.WriteInts("/g/none", {});
    file.WriteDoubles("/g/doubles", {1e300, -0.0, std::numeric_limits<double>::infinity()});
    file.WriteDoubles("/g/no_doubles", {});
    file.WriteStrings("/g/texts", {"", "x", std::string(100'000, 'y')});
    file.WriteStrings("/g/no_texts", {});
    file.WriteIntMatrix("/g/matrix", {1, 2, 3, 4, 5, 6}, 3);
    file.WriteIntMatrix("/g/no_rows", {}, 4);
    file.WriteTable("/g/table", {{"b", many}, {"a", std::vector<double>(many.size(), 0.5)}});
    file.WriteTable("/g/no_table", {{"b", std::vector<double>{}}});
    file.Commit();
  }
  fs::copy(path, copy);
  ResultsFile(copy, ResultsMode::kExtend).Commit();
  CHECK(testing::Hdf5Text(copy, "/") == testing::Hdf5Text(path, "/"));
  const ResultsReader reader(copy);
  CHECK(reader.Children("/") == std::vector<std::string>{"g", "nothing"});
  CHECK(reader.Double("/g/ints", "unit") == 0.25);
  CHECK(reader.Ints("/g/ints") == many);
  // Extended again, a file that was written by copying has the same bytes.
  const std::string bytes = ReadFile(copy);
  ResultsFile(copy, ResultsMode::kExtend).Commit();
  CHECK(ReadFile(copy) == bytes);
}

TEST_CASE("what emplace does not write is no value, and not copied") {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  const auto refusal = [&](const std::function<void(hid_t)>& change) {
    {
      ResultsFile file(path);
      file.WriteInts("/g/ints", {1});
      file.Commit();
    }
    ChangeByHdf5(path, change);
    CHECK(ResultsReader(path).Ints("/g/ints") == std::vector<std::int64_t>{1});
    return testing::MessageOf<InputError>([&] { ResultsFile(path, ResultsMode::kExtend); });
  };
  const std::string foreign = ": has a kind that emplace does not write";
  const auto dataset = [](hid_t file, hid_t type, hid_t space) {
    H5Dclose(H5Dcreate2(file, "/g/x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  };
  const hsize_t sizes[] = {2, 2, 2};
  CHECK(refusal([&](hid_t file) { dataset(file, H5T_NATIVE_INT, H5Screate(H5S_SCALAR)); }) ==
        path.string() + ": /g/x" + foreign);
  CHECK(refusal([&](hid_t file) {
          dataset(file, H5T_NATIVE_INT, H5Screate_simple(3, sizes, nullptr));
        }) == path.string() + ": /g/x" + foreign);
  CHECK(refusal([&](hid_t file) {
          dataset(file, H5T_C_S1, H5Screate_simple(1, sizes, nullptr));
        }) == path.string() + ": /g/x" + foreign);
  CHECK(refusal([](hid_t file) {
          H5Lcreate_external("/etc/hostname", "/", file, "/g/x", H5P_DEFAULT, H5P_DEFAULT);
        }) == path.string() + ": /g/x" + foreign);
  CHECK(refusal([&](hid_t file) {
          const hid_t space = H5Screate_simple(1, sizes, nullptr);
          const hid_t group = H5Gopen2(file, "/g", H5P_DEFAULT);
          H5Aclose(H5Acreate2(group, "pair", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
          H5Gclose(group);
          H5Sclose(space);
        }) == path.string() + ": /g@pair" + foreign);
  // A group that is in itself has no end.
  ChangeByHdf5(path, [](hid_t file) {
    H5Lcreate_hard(file, "/g", file, "/g/again", H5P_DEFAULT, H5P_DEFAULT);
  });
  CHECK(Contains(testing::MessageOf<DamagedError>([&] { ResultsReader{path}; }),
                 "groups are nested more than 32 levels deep"));
}

TEST_CASE("a right checksum does not make a wrong file right") {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  const auto read = [&](const std::string& image) {
    std::ofstream(path, std::ios::binary) << image << emplace::internal::ChecksumLine(image);
    const ResultsReader reader(path);
    reader.Strings("/texts");
  };
  {
    ResultsFile file(path);
    file.WriteStrings("/texts", {"a", "b"});
    file.Commit();
  }
  const std::string sound = emplace::internal::ReadResultsImage(path);
  read(sound);
  std::string wrong = sound;
  const size_t heap = wrong.find("GCOL");
  REQUIRE(heap != std::string::npos);
  wrong[heap + 16] = 99;  // index of the first text
  CHECK(Contains(testing::MessageOf<std::exception>([&] { read(wrong); }), path.string() + ": "));
  wrong = sound;
  wrong[heap] = 'g';
  CHECK(Contains(testing::MessageOf<DamagedError>([&] { read(wrong); }),
                 path.string() + ": damaged: /@format: cannot be read: "));
  wrong = sound.substr(0, 8) + std::string(sound.size() - 8, '\xff');
  CHECK(testing::MessageOf<DamagedError>([&] { read(wrong); }) ==
        path.string() + ": not a results file of emplace (HDF5), or incomplete");
}

TEST_CASE("a dataset may be larger than memory may be" * doctest::skip(testing::kUnderSanitizers)) {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  {
    ResultsFile file(path);
    file.WriteInts("/ints", {1});
    file.Commit();
  }
  ChangeByHdf5(path, [](hid_t file) {
    const hsize_t rows = hsize_t{1} << 40, chunk = 1024;
    const hid_t space = H5Screate_simple(1, &rows, nullptr), layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(layout, 1, &chunk);
    H5Dclose(H5Dcreate2(file, "/x", H5T_NATIVE_INT64, space, H5P_DEFAULT, layout, H5P_DEFAULT));
    H5Pclose(layout);
    H5Sclose(space);
  });
  const ResultsReader reader(path);
  CHECK(Contains(testing::MessageOf<RunError>([&] { reader.Ints("/x"); }),
                 "r.h5: reading it needs more than 4096 MiB of memory, the limit; "
                 "EMPLACE_RESULTS_LIMIT=2 in the environment doubles it"));
  CHECK(reader.Ints("/ints") == std::vector<std::int64_t>{1});
}

// Sanitizers do not release the locks of their allocators in a forked process, as glibc does.
TEST_CASE("threads read and write at once" * doctest::skip(testing::kUnderSanitizers)) {
  const testing::TempDir folder;
  const fs::path path = folder / "r.h5";
  {
    ResultsFile file(path);
    file.WriteInts("/x", std::vector<std::int64_t>(1000, 3));
    file.Commit();
  }
  const ResultsReader shared(path);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ResultsFile own(folder / ("own" + std::to_string(t) + ".h5"));
      for (int i = 0; i < 10; ++i) {
        own.WriteInts("/x", std::vector<std::int64_t>(1000, t));
        own.Commit();
        right += shared.Ints("/x")[999] == 3;
        right += ResultsReader(own.path()).Ints("/x")[999] == t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 80);
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
