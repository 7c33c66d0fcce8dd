#include "framework/results/results_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

namespace fs = std::filesystem;

// A results file opened with HDF5's own functions.
class Opened {
 public:
  explicit Opened(const fs::path& path)
      : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    REQUIRE(file_ >= 0);
  }
  ~Opened() { H5Fclose(file_); }

  bool Has(const std::string& name) const {
    return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0;
  }

  hsize_t Rows(const std::string& dataset) const {
    const hid_t id = H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT);
    REQUIRE(id >= 0);
    const hid_t space = H5Dget_space(id);
    const hsize_t rows = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    H5Dclose(id);
    return rows;
  }

  template <class T>
  std::vector<T> Read(const std::string& dataset, hid_t type) const {
    std::vector<T> values(Rows(dataset));
    const hid_t id = H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT);
    CHECK(H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Dclose(id);
    return values;
  }

  // One column of a compound table.
  template <class T>
  std::vector<T> Column(const std::string& table, const char* name, hid_t type) const {
    const hid_t compound = H5Tcreate(H5T_COMPOUND, sizeof(T));
    H5Tinsert(compound, name, 0, type);
    std::vector<T> values = Read<T>(table, compound);
    H5Tclose(compound);
    return values;
  }

  bool IsDeflated(const std::string& dataset) const {
    const hid_t id = H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT);
    const hid_t layout = H5Dget_create_plist(id);
    const bool deflated = H5Pget_nfilters(layout) == 2;
    H5Pclose(layout);
    H5Dclose(id);
    return deflated;
  }

  std::vector<std::string> Strings(const std::string& dataset) const {
    const hid_t type = StringType();
    std::vector<std::string> texts;
    for (char* text : Read<char*>(dataset, type)) {
      texts.emplace_back(text);
      H5free_memory(text);
    }
    H5Tclose(type);
    return texts;
  }

  std::string Text(const std::string& object, const char* name) const {
    const hid_t type = StringType();
    char* text = nullptr;
    ReadAttribute(object, name, type, &text);
    const std::string copy = text;
    H5free_memory(text);
    H5Tclose(type);
    return copy;
  }

  void ReadAttribute(const std::string& object, const char* name, hid_t type, void* value) const {
    const hid_t id = H5Aopen_by_name(file_, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(id >= 0);
    CHECK(H5Aread(id, type, value) >= 0);
    H5Aclose(id);
  }

 private:
  static hid_t StringType() {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
  }

  hid_t file_;
};

size_t CountFiles(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("attributes and datasets read back through HDF5 itself") {
  const testing::TempDir folder;
  const fs::path path = folder / "run.h5";
  const std::string long_text(200'000, 'y');  // attributes in the object header end at 64 KiB
  {
    ResultsFile file(path);
    CHECK(file.path() == path);
    file.SetAttribute("/config", "yaml", long_text);
    file.SetAttribute("/agents/hill_climb.seed2", "seconds", 1.5);
    file.SetAttribute("agents/hill_climb.seed2", "error", std::string("d\u00e9j\u00e0: \"vu\""));
    file.WriteInts("/problem/group_of_op", {3, -1, 1LL << 60});
    file.WriteDoubles("/problem/weights", {0.25, 1e300});
    file.WriteStrings("/problem/op_names", {"a", "", "conv/\u03b2"});
    file.WriteInts("/problem/empty", {});
    file.WriteStrings("/problem/no_names", {});
    file.WriteTable("/agents/hill_climb.seed2/evaluations",
                    {{"index", std::vector<std::int64_t>{0, 1}},
                     {"wall_seconds", std::vector<double>{0.5, 0.75}},
                     {"step_time_ns", std::vector<std::int64_t>{100, 90}}});
    file.Commit();
  }
  const Opened file(path);
  CHECK(file.Text("/", "format") == "emplace-results");
  std::int64_t version = 0;
  file.ReadAttribute("/", "version", H5T_NATIVE_INT64, &version);
  CHECK(version == kResultsVersion);
  CHECK(file.Text("/config", "yaml") == long_text);
  double seconds = 0;
  file.ReadAttribute("/agents/hill_climb.seed2", "seconds", H5T_NATIVE_DOUBLE, &seconds);
  CHECK(seconds == 1.5);
  CHECK(file.Text("/agents/hill_climb.seed2", "error") == "d\u00e9j\u00e0: \"vu\"");
  CHECK(file.Read<std::int64_t>("/problem/group_of_op", H5T_NATIVE_INT64) ==
        std::vector<std::int64_t>{3, -1, 1LL << 60});
  CHECK(file.Read<double>("/problem/weights", H5T_NATIVE_DOUBLE) ==
        std::vector<double>{0.25, 1e300});
  CHECK(file.Strings("/problem/op_names") == std::vector<std::string>{"a", "", "conv/\u03b2"});
  CHECK(file.Rows("/problem/empty") == 0);
  CHECK(file.Rows("/problem/no_names") == 0);
  const std::string table = "/agents/hill_climb.seed2/evaluations";
  CHECK(file.Column<std::int64_t>(table, "step_time_ns", H5T_NATIVE_INT64) ==
        std::vector<std::int64_t>{100, 90});
  CHECK(file.Column<double>(table, "wall_seconds", H5T_NATIVE_DOUBLE) ==
        std::vector<double>{0.5, 0.75});
  CHECK_FALSE(file.IsDeflated(table));
}

TEST_CASE("writing again replaces, and every commit is whole") {
  const testing::TempDir folder;
  const fs::path path = folder / "run.h5";
  ResultsFile file(path);
  file.WriteInts("/agents/a/best/placement", {1, 2, 3});
  file.SetAttribute("/agents/a", "status", std::string("running"));
  file.Commit();
  file.WriteInts("/agents/a/best/placement", {4});
  file.WriteDoubles("/late", {1});
  file.SetAttribute("/agents/a", "status", std::int64_t{7});
  const Opened before(path);  // stays open and locked, as HDF5 does it
  CHECK(before.Rows("/agents/a/best/placement") == 3);
  CHECK_FALSE(before.Has("/late"));
  file.Commit();
  CHECK(before.Text("/agents/a", "status") == "running");
  CHECK_FALSE(before.Has("/late"));
  const Opened after(path);
  CHECK(after.Read<std::int64_t>("/agents/a/best/placement", H5T_NATIVE_INT64) ==
        std::vector<std::int64_t>{4});
  std::int64_t status = 0;
  after.ReadAttribute("/agents/a", "status", H5T_NATIVE_INT64, &status);
  CHECK(status == 7);
  CHECK(after.Has("/late"));
  CHECK(CountFiles(folder.path()) == 1);
}

TEST_CASE("long tables are compressed; replacing them does not let the file grow without end") {
  const testing::TempDir folder;
  const fs::path path = folder / "run.h5";
  ResultsFile file(path);
  const size_t rows = 100'000;
  std::vector<std::int64_t> index(rows);
  for (size_t i = 0; i < rows; ++i) index[i] = static_cast<std::int64_t>(i);
  for (int commit = 0; commit < 20; ++commit) {
    file.WriteTable("/evaluations",
                    {{"index", index}, {"step_time_ns", std::vector<std::int64_t>(rows, commit)}});
    file.Commit();
  }
  const Opened opened(path);
  CHECK(opened.IsDeflated("/evaluations"));
  CHECK(opened.Column<std::int64_t>("/evaluations", "index", H5T_NATIVE_INT64) == index);
  CHECK(opened.Column<std::int64_t>("/evaluations", "step_time_ns", H5T_NATIVE_INT64)[7] == 19);
  CHECK(fs::file_size(path) < rows * 16);  // less than one uncompressed table
}

TEST_CASE("nothing remains without a commit, and an old file stays as it was") {
  const testing::TempDir folder;
  {
    ResultsFile file(folder / "run.h5");
    file.WriteInts("/x", {1});
  }
  CHECK(CountFiles(folder.path()) == 0);
  std::ofstream(folder / "old.h5") << "precious";
  { ResultsFile file(folder / "old.h5"); }
  CHECK(ReadFile(folder / "old.h5") == "precious");
  CHECK(CountFiles(folder.path()) == 1);
}

void CheckRefused(const fs::path& path, const std::string& reason) {
  const std::string message = testing::MessageOf<RunError>([&] { ResultsFile file(path); });
  INFO(message);
  CHECK(message.find(path.string() + ": cannot be written: ") != std::string::npos);
  CHECK(message.find(reason) != std::string::npos);
}

TEST_CASE("an unwritable place is refused at once") {
  const testing::TempDir folder;
  CheckRefused(folder / "none" / "run.h5", "No such file or directory");
  CheckRefused(folder.path(), "is a folder");
  std::ofstream(folder / "file") << "x";
  CheckRefused(folder / "file" / "run.h5", "Not a directory");
  if (geteuid() != 0) {  // root may write everywhere
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    CheckRefused(folder / "run.h5", "Permission denied");
    fs::permissions(folder.path(), fs::perms::owner_all);
  }
  CHECK(CountFiles(folder.path()) == 1);
}

TEST_CASE("a folder that goes away is a failed run that names the file") {
  const testing::TempDir folder;
  fs::create_directory(folder / "sub");
  ResultsFile file(folder / "sub" / "run.h5");
  file.WriteInts("/x", {1});
  fs::remove_all(folder / "sub");
  const std::string message = testing::MessageOf<RunError>([&] { file.Commit(); });
  CHECK(message.find("run.h5") != std::string::npos);
}

TEST_CASE("a text with a zero byte is refused") {
  const testing::TempDir folder;
  ResultsFile file(folder / "run.h5");
  const std::string message = testing::MessageOf<RunError>(
      [&] { file.SetAttribute("/config", "yaml", std::string("a\0b", 3)); });
  CHECK(message.find("run.h5: cannot write /config@yaml: the text has a zero byte") !=
        std::string::npos);
}

TEST_CASE("equal content gives equal bytes") {
  const testing::TempDir folder;
  for (const char* name : {"a.h5", "b.h5"}) {
    ResultsFile file(folder / name);
    file.SetAttribute("/config", "yaml", std::string("x"));
    file.WriteDoubles("/agents/a/x", std::vector<double>(10'000, 0.5));
    file.Commit();
  }
  CHECK(ReadFile(folder / "a.h5") == ReadFile(folder / "b.h5"));
}

TEST_CASE("threads may write their own and the same file") {
  const testing::TempDir folder;
  ResultsFile shared(folder / "shared.h5");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string label = "/agents/a.seed" + std::to_string(t);
      ResultsFile own(folder / ("own" + std::to_string(t) + ".h5"));
      for (int i = 0; i < 20; ++i) {
        shared.SetAttribute(label, "evaluations", std::int64_t{i});
        shared.WriteInts(label + "/best/placement", std::vector<std::int64_t>(100, t));
        own.WriteInts("/x", {t});
      }
      shared.Commit();
      own.Commit();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Opened file(folder / "shared.h5");
  for (int t = 0; t < 4; ++t) {
    const std::string label = "/agents/a.seed" + std::to_string(t);
    CHECK(file.Read<std::int64_t>(label + "/best/placement", H5T_NATIVE_INT64) ==
          std::vector<std::int64_t>(100, t));
  }
}

}  // namespace
