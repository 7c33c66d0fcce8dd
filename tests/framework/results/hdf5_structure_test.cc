#include "framework/results/hdf5_structure.h"

#include <cstring>
#include <functional>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/file.h"
#include "framework/results/results_file.h"
#include "framework/results/results_image.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;
using internal::FindHdf5Damage;

namespace {

namespace fs = std::filesystem;

std::uint64_t FieldAt(const std::string& file, size_t place, size_t width = 8) {
  std::uint64_t value = 0;
  std::memcpy(&value, &file[place], width);
  return value;
}

void SetField(std::string& file, size_t place, std::uint64_t value, size_t width = 8) {
  std::memcpy(&file[place], &value, width);
}

// The HDF5 data of a kept file: runs of several agents, and a table in chunks ("long.h5").
std::string Kept(const std::string& name) {
  return internal::ReadResultsImage(SourceDir() / "tests/framework/results/data" / name);
}

// What is said after `change`, which is to be undone.
std::string DamageBy(std::string file, const std::function<void(std::string&)>& change) {
  change(file);
  return FindHdf5Damage(file);
}

void CheckSays(const std::string& damage, const std::string& part) {
  CAPTURE(damage);
  CHECK(damage.find(part) != std::string::npos);
}

TEST_CASE("large groups, many chunks and what was replaced and removed are sound") {
  const TempDir folder;
  const fs::path path = folder / "r.h5";
  ResultsFile file(path);
  // Trees of two levels: a node of a group has 32 leaves of 8 links, one of chunks 64 of 16384
  // rows.
  for (int i = 0; i < 700; ++i) {
    const std::string group = fmt::format("/agents/{}", i * 7919 % 700);
    file.SetAttribute(group, "status", fmt::format("{} of 700", i));
    if (i % 3 == 0) file.WriteStrings(group + "/names", {"a", "", std::string(i, 'x')});
  }
  std::vector<std::int64_t> ints(1'200'000);
  for (size_t i = 0; i < ints.size(); ++i) ints[i] = static_cast<std::int64_t>(i * i % 1000);
  file.WriteInts("/ints", ints);
  file.WriteTable("/table",
                  {{"i", std::vector<std::int64_t>(5000, 3)}, {"x", std::vector<double>(5000, 3)}});
  file.WriteIntMatrix("/matrix", {1, 2, 3, 4}, 2);
  file.WriteInts("/none", {});
  const auto check = [&] {
    file.Commit();
    const std::string image = internal::ReadResultsImage(path);
    CHECK(FindHdf5Damage(image) == "");
  };
  check();
  for (int i = 0; i < 700; i += 2) file.Remove(fmt::format("/agents/{}", i));
  for (int i = 1; i < 700; i += 4) {
    file.SetAttribute(fmt::format("/agents/{}", i), "status", std::string(i * 20, 's'));
    file.SetAttribute(fmt::format("/agents/{}", i), "seconds", 1.5);
  }
  file.WriteInts("/ints", {1, 2});
  check();
  for (int i = 1; i < 700; i += 2) file.Remove(fmt::format("/agents/{}", i));
  file.SetAttribute("/agents/last", "status", std::string("s"));
  check();
}

TEST_CASE("the file's head") {
  const std::string file = Kept("run.h5");
  CheckSays(FindHdf5Damage(""), "superblock at byte 0: it is not within the file");
  CheckSays(FindHdf5Damage(file.substr(0, 1000)),
            "superblock at byte 0: the file has 1000 bytes, expected 58576");
  CheckSays(FindHdf5Damage(file + "x"), "the file has 58577 bytes, expected 58576");
  CheckSays(DamageBy(file, [](auto& f) { f[8] = 2; }),
            "superblock at byte 0: its version is 2, expected 0");
  CheckSays(DamageBy(file, [](auto& f) { f[13] = 4; }), "not as emplace writes it");
  CheckSays(DamageBy(file, [](auto& f) { SetField(f, 64, 1 << 20); }),
            "object header at byte 1048576: it is not within the file");
  CheckSays(DamageBy(file, [](auto& f) { SetField(f, 64, 40); }),
            "object header at byte 40: its bytes belong to something else, too");
}

TEST_CASE("objects and groups") {
  const std::string file = Kept("run.h5");
  const size_t root = FieldAt(file, 64), tree = FieldAt(file, 80), heap = FieldAt(file, 88);
  CheckSays(DamageBy(file, [&](auto& f) { f[root] = 2; }), "its version is 2, expected 1");
  CheckSays(DamageBy(file, [&](auto& f) { f[root + 2] ^= 1; }), "messages, expected");
  CheckSays(DamageBy(file, [&](auto& f) { f[root + 4] = 2; }), "2 links to it, expected 1");
  const size_t fill = file.find(std::string("\5\0\x08\0\1\0\0\0\2\2", 10));
  REQUIRE(fill != std::string::npos);
  CheckSays(DamageBy(file, [&](auto& f) { f[fill] = 0x15; }), "a message of kind 21");
  CheckSays(DamageBy(file, [&](auto& f) { f[fill] = 0; }), "it has no message of kind 5");
  CheckSays(DamageBy(file, [&](auto& f) { f[fill] = 8; }), "two messages of kind 8");
  // An unused message becomes one that goes on at byte 0.
  const size_t unused = file.find(std::string("\0\0\x90\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
  REQUIRE(unused != std::string::npos);
  CheckSays(DamageBy(file, [&](auto& f) { f[unused] = 0x10; }), "an empty part of it");
  CheckSays(DamageBy(file, [&](auto& f) { f[root + 20] = 2; }), "a message of unknown kind");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, 80, tree + 8); }),
            "a link says another table");
  CheckSays(DamageBy(file, [&](auto& f) { f[tree] = 't'; }),
            "tree node at byte 136: it is not there");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, tree + 16, tree); }),
            "it has a neighbour that is not there");
  CheckSays(DamageBy(file, [&](auto& f) { f[tree + 6] = 60; }), "not of the kind that its tree is");
  const size_t leaf = FieldAt(file, tree + 32), names = FieldAt(file, heap + 24);
  CheckSays(DamageBy(file, [&](auto& f) { f[leaf + 6] = 9; }), "an unknown kind of links");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, leaf + 8, 1 << 20); }),
            "a name is not within them");
  const size_t first = names + FieldAt(file, leaf + 8);
  REQUIRE(file.substr(first, 6) == "agents");
  for (const std::string& name : {std::string(".\0", 2), std::string("a/b")}) {
    CheckSays(DamageBy(file, [&](auto& f) { f.replace(first, name.size(), name); }),
              "an unknown kind of link");
  }
  // /agents, /config, /problem: the second becomes /Config, before the first.
  const size_t second = names + FieldAt(file, leaf + 48);
  REQUIRE(file.substr(second, 6) == "config");
  CheckSays(DamageBy(file, [&](auto& f) { f[second] = 'C'; }), "its names are not in order");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, leaf + 16, root); }),
            "its bytes belong to something else, too");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, heap + 16, 1 << 20); }),
            "free space is not within them");
  // Free space that follows itself would never end.
  const size_t free_space = FieldAt(file, heap + 16);
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, names + free_space, free_space); }),
            "their free space has no end");
}

// The text of an attribute: the 16 bytes of its place in the heap, as they follow the head of the
// attribute "format" (name, type and dimensions take 8 + 8 + 32 + 8 bytes).
TEST_CASE("texts of variable length") {
  const std::string file = Kept("run.h5");
  const size_t attribute = file.find(std::string("\1\0\7\0", 4));
  REQUIRE(file.substr(attribute + 8, 6) == "format");
  size_t place = attribute + 16;
  while (FieldAt(file, place, 4) != 15) place += 4;  // "emplace-results"
  const size_t heap = FieldAt(file, place + 4), index = FieldAt(file, place + 12, 4);
  REQUIRE(file.substr(heap, 4) == "GCOL");
  REQUIRE(index == 1);
  const std::string missing =
      fmt::format("attribute \"format\": its text is not in the heap at byte {}", heap);
  CheckSays(DamageBy(file, [&](auto& f) { f[place + 12] = '\xf0'; }), missing);
  CheckSays(DamageBy(file, [&](auto& f) { f[place] = 16; }), missing);
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, place + 4, heap + 16); }), "heap at byte");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, place + 4, ~0ULL); }), "it is cut off");
  CheckSays(DamageBy(file, [&](auto& f) { f[heap] = 'g'; }), "it is not there");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, heap + 8, 1 << 30); }),
            "it is not within the file");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, heap + 8, 100); }), "it is too small");
  CheckSays(DamageBy(file, [&](auto& f) { SetField(f, heap + 24, 1 << 20); }),
            "a text goes beyond its end");
  CheckSays(DamageBy(file, [&](auto& f) { f[heap + 16] = 2; }), "two texts of one index");
  CheckSays(DamageBy(file, [&](auto& f) { f[heap + 16] = 0; }),
            "its free space does not end with it");
}

TEST_CASE("types, sizes and chunks") {
  const std::string file = Kept("long.h5");
  const size_t filters = file.find("shuffle"), chunks = file.find(std::string("TREE\1\0\1\0", 8));
  REQUIRE(filters != std::string::npos);
  REQUIRE(chunks != std::string::npos);
  CheckSays(DamageBy(file, [&](auto& f) { f[filters + 8] = 4; }), "shuffled by another size");
  CheckSays(DamageBy(file, [&](auto& f) { f[filters - 8] = 4; }), "an unknown filter");
  CheckSays(DamageBy(file, [&](auto& f) { f[chunks + 6] = 0; }), "it has 0 chunks, expected 1");
  CheckSays(DamageBy(file, [&](auto& f) { f[chunks + 28] = 4; }),
            "a filter that is not there is left out");
  CheckSays(DamageBy(file, [&](auto& f) { f[chunks + 28] = 2; }),
            "it is of another size than the dataset says");
  CheckSays(DamageBy(file, [&](auto& f) { f[chunks + 32] = 1; }), "it is in the wrong place");
  const size_t chunk = FieldAt(file, chunks + 48);
  CheckSays(DamageBy(file, [&](auto& f) { f[chunk + 1000] ^= 1; }), "it cannot be unpacked");
  const size_t integer = file.find(std::string("\x10\x08\0\0\x08\0\0\0\0\0\x40\0", 12));
  REQUIRE(integer != std::string::npos);
  CheckSays(DamageBy(file, [&](auto& f) { f[integer] = 0x12; }),
            "HDF5's class 2, which emplace does not write");
  CheckSays(DamageBy(file, [&](auto& f) { f[integer + 10] = 8; }), "a number with unused bits");
  CheckSays(DamageBy(file, [&](auto& f) { f[integer + 4] = 0; }), "a number with unused bits");
  const size_t real = file.find(std::string("\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0", 12));
  REQUIRE(real != std::string::npos);
  CheckSays(DamageBy(file, [&](auto& f) { f[real + 2] = 62; }),
            "an unknown kind of floating-point number");
  const size_t dimensions = file.find(std::string("\1\1\1\0\0\0\0\0\x1a", 9));  // 26 ops
  REQUIRE(dimensions != std::string::npos);
  CheckSays(DamageBy(file, [&](auto& f) { f[dimensions + 8] = 27; }),
            "more rows than there may be");
  CheckSays(DamageBy(file,
                     [&](auto& f) {
                       SetField(f, dimensions + 8, 1ULL << 61);
                       SetField(f, dimensions + 16, 1ULL << 61);
                     }),
            "more values than a file can hold");
  CheckSays(DamageBy(file,
                     [&](auto& f) {
                       SetField(f, dimensions + 8, 25);
                       SetField(f, dimensions + 16, 25);
                     }),
            "a dataset of another size than its data");
}

}  // namespace
