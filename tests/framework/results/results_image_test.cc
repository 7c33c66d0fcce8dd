#include "framework/results/results_image.h"

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>
#include <hdf5.h>

#include "framework/base/file.h"
#include "framework/base/random.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;
using emplace::internal::ChecksumLine;
using emplace::internal::ReadResultsImage;

namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ImageRefusal(const fs::path& path) {
  return MessageOf<DamagedError>([&] { ResultsReader reader(path); });
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

struct OneFile {
  TempDir folder;
  fs::path path = folder / "r.h5";
  std::string bytes;

  OneFile() {
    ResultsFile file(path);
    file.WriteStrings("/texts", {"a", "b"});
    file.Commit();
    bytes = ReadFile(path);
  }
};

TEST_CASE("a file is HDF5 data and a line with the checksum of all before it") {
  // The check value that every definition of CRC-32 gives for these nine letters.
  CHECK(ChecksumLine("123456789") == "\nemplace-results crc32 cbf43926\n");
  CHECK(ChecksumLine("").size() == 32);

  const OneFile file;
  const size_t end = file.bytes.size() - 32;
  CHECK(file.bytes.substr(end) == ChecksumLine(file.bytes.substr(0, end)));
  CHECK(ReadResultsImage(file.path) == file.bytes.substr(0, end));
  const hid_t id = H5Fopen(file.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);  // HDF5 looks past it
  REQUIRE(id >= 0);
  CHECK(H5Lexists(id, "texts", H5P_DEFAULT) > 0);
  H5Fclose(id);
}

TEST_CASE("damage is named") {
  const OneFile file;
  const std::string name = file.path.string() + ": ";
  std::string changed = file.bytes;
  changed[changed.size() / 2] ^= 1;
  Write(file.path, changed);
  CHECK(ImageRefusal(file.path) == name + "damaged: its checksum does not match its bytes");
  changed = file.bytes;
  changed[changed.size() - 2] ^= 1;  // the checksum itself
  Write(file.path, changed);
  CHECK(ImageRefusal(file.path) == name + "damaged: its checksum does not match its bytes");
  // As another program leaves it that has written to it.
  const std::string missing = name +
                              "the checksum at its end is missing: damaged, or written to by "
                              "another program or by a version "
                              "of emplace before format 2; run it again";
  Write(file.path, file.bytes.substr(0, file.bytes.size() - 32));
  CHECK(ImageRefusal(file.path) == missing);
  Write(file.path, file.bytes + "\n");
  CHECK(ImageRefusal(file.path) == missing);
  Write(file.path, "");
  CHECK(ImageRefusal(file.path) == name + "not a results file of emplace (HDF5), or incomplete");
  Write(file.path, file.bytes.substr(0, 8));
  CHECK(ImageRefusal(file.path) == missing);
}

TEST_CASE("every damaged file is refused") {
  const TempDir folder;
  const fs::path path = folder / "mutant.h5";
  const std::string bytes = ReadFile(SourceDir() / "tests/framework/results/data/run.h5");
  Rng rng(1);
  int mutants = 0;
  for (int i = 0; i < 300 * EMPLACE_TEST_SCALE; ++i) {
    const std::string mutant = Mutate(bytes, rng);
    if (mutant == bytes) continue;
    ++mutants;
    Write(path, mutant);
    const std::string message = ImageRefusal(path);
    CHECK_MESSAGE(message.starts_with(path.string() + ": "), message);
  }
  CHECK(mutants > 200 * EMPLACE_TEST_SCALE);
}

}  // namespace
