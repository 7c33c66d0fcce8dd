// Files of version 1, kept since they were written, read by this version; what damage does to them
// and to files of this version.

#include <algorithm>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>
#include <hdf5.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/random.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/framework/results/results_content.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

namespace fs = std::filesystem;

const fs::path kFolder = SourceDir() / "tests/framework/results/data/version_1";

TEST_CASE("what files of version 1 hold") {
  using Texts = std::vector<std::string>;
  const ResultsReader run(kFolder / "run.h5");
  CHECK(run.Int("/", "version") == 1);
  CHECK(run.Text("/problem", "graph") == "caf\u00e9");
  CHECK(run.Children("/agents") ==
        Texts{"heft", "hill_climb.seed0", "placeto.seed0", "seq2seq.seed0", "single_gpu"});
  CHECK(run.Strings("/problem/op_names").size() == 26);
  CHECK(run.Strings("/problem/op_names")[1] == "layer0/matmul");
  CHECK(run.Strings("/problem/device_names") == Texts{"cpu:0", "gpu:0", "gpu:1"});
  CHECK(run.Ints("/config/seeds") == std::vector<std::int64_t>{0});
  CHECK(run.Int("/problem", "bound_ns") == 11'820'000);
  CHECK(run.Text("/agents/heft", "error") == "");
  CHECK(run.Table("/agents/hill_climb.seed0/evaluations")[0].name == "index");
  CHECK(Contains(run.Text("/agents/seq2seq.seed0", "settings"), "hidden: 4"));

  const std::vector<TableColumn> table =
      ResultsReader(kFolder / "long.h5").Table("/agents/simulated_annealing.seed0/evaluations");
  const auto& index = ColumnOf<std::int64_t>(table, "index", "long.h5");
  REQUIRE(index.size() == 4200);
  CHECK(index[4199] == 4199);

  const ResultsReader stopped(kFolder / "stopped.h5");
  CHECK(stopped.Text("/agents/seq2seq.seed0", "status") == "stopped");
  CHECK(stopped.Strings("/agents/seq2seq.seed0/checkpoint")[0].starts_with(
      "emplace-agent-state 1 seq2seq "));

  const ResultsReader verified(kFolder / "verification.h5");
  CHECK(verified.Strings("/verification/labels") == Texts{"contiguous", "etf", "heft"});
  CHECK(verified.IntMatrix("/verification/step_times_ns").size() == 3);
  CHECK(verified.IntMatrix("/verification/step_times_ns")[0].size() == 5);

  const ResultsReader generalization(kFolder / "generalization.h5");
  CHECK(generalization.Strings("/families/small/graphs") == Texts{"g2", "g3"});
  CHECK(generalization.Strings("/families/small/training/rnn.seed0/policy")[0].starts_with(
      "emplace-policy 1 seq2seq"));
}

TEST_CASE("a file of version 1 that is extended becomes one of this version, with all it held") {
  const TempDir folder;
  for (const fs::path& old : VersionOneFiles()) {
    CAPTURE(old);
    const fs::path path = folder / "r.h5";
    fs::copy_file(old, path, fs::copy_options::overwrite_existing);
    {
      ResultsFile file(path, ResultsMode::kExtend);
      file.WriteStrings("/verification/warnings", {"none"});
      file.Commit();
    }
    const ResultsReader reader(path);
    CHECK(reader.Int("/", "version") == kResultsVersion);
    CHECK(reader.Strings("/verification/warnings")[0] == "none");
    const ResultsReader before(old);
    for (const ContentItem& item : ListContent(old)) {
      if (item.object == "/" || Contains(item.object, "/verification")) continue;
      CAPTURE(item.object);
      CAPTURE(item.attribute);
      CHECK(ReadItem(reader, item) == ReadItem(before, item));
    }
  }
}

// A few bits, a byte, or a page of zeros; or cut off; or with bytes of another place.
std::string Mutate(const std::string& bytes, Rng& rng) {
  constexpr size_t kPage = 4096;
  const auto below = [&](size_t end) { return static_cast<size_t>(UniformInt(rng, end)); };
  std::string mutant = bytes;
  const size_t place = below(bytes.size());
  switch (below(10)) {
    case 0: {
      const size_t page = place / kPage * kPage;
      std::fill_n(&mutant[page], std::min(kPage, bytes.size() - page), '\0');
      break;
    }
    case 1:
      mutant.resize(place);
      break;
    case 2: {
      const size_t count = std::min<size_t>(8, bytes.size() - place);
      mutant.replace(place, count, bytes.substr(below(bytes.size() - 8), count));
      break;
    }
    case 3:
      mutant[place] = static_cast<char>(mutant[place] ^ (1 << below(8)));
      break;
    default:
      mutant[place] = static_cast<char>(below(256));
  }
  return mutant;
}

struct Tally {
  int mutants = 0, refused = 0, changed = 0;
};

// Reads `count` mutants of a file with all that is in it. Whatever is not as it was is refused
// under the file's name, or, without a checksum, another value.
Tally ReadMutants(const fs::path& original, int count, std::uint64_t seed) {
  const TempDir folder;
  const fs::path path = folder / "mutant.h5";
  const std::string bytes = ReadFile(original);
  const std::vector<ContentItem> items = ListContent(original);
  const std::vector<std::string> content = ReadContent(ResultsReader(original), items);
  Rng rng(seed);
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const std::string mutant = Mutate(bytes, rng);
    if (mutant == bytes) continue;
    ++tally.mutants;
    std::ofstream(path, std::ios::binary) << mutant;
    bool is_refused = false, is_changed = false;
    const auto try_to = [&](const std::function<void()>& read) {
      try {
        read();
      } catch (const InputError& error) {
        is_refused = true;
        const std::string message = error.what();
        CHECK_MESSAGE(message.starts_with(path.string() + ": "), message);
      }
    };
    try_to([&] {
      const ResultsReader reader(path);
      for (size_t k = 0; k < items.size(); ++k) {
        try_to([&] { is_changed = is_changed || ReadItem(reader, items[k]) != content[k]; });
      }
    });
    // HDF5 would complain at the end of the process of what it could not close.
    CHECK(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
    tally.refused += is_refused;
    tally.changed += is_changed;
  }
  return tally;
}

TEST_CASE("every damaged file of this version is refused") {
  const TempDir folder;
  const fs::path path = folder / "run.h5";
  fs::copy_file(kFolder / "run.h5", path);
  ResultsFile(path, ResultsMode::kExtend).Commit();
  const Tally tally = ReadMutants(path, 300 * EMPLACE_TEST_SCALE, 1);
  CHECK(tally.mutants > 200 * EMPLACE_TEST_SCALE);
  CHECK(tally.refused == tally.mutants);
  CHECK(tally.changed == 0);
}

TEST_CASE("a damaged file of version 1 is refused or read, and nothing else happens") {
  const std::vector<fs::path> files = VersionOneFiles();
  Tally all;
  for (size_t i = 0; i < files.size(); ++i) {
    CAPTURE(files[i]);
    const Tally tally = ReadMutants(files[i], 300 * EMPLACE_TEST_SCALE / std::ssize(files) + 1, i);
    all.mutants += tally.mutants;
    all.refused += tally.refused;
    all.changed += tally.changed;
  }
  CHECK(all.mutants > 200 * EMPLACE_TEST_SCALE);
  CHECK(all.refused > all.mutants / 3);  // half of them at the time of writing
}

}  // namespace
