#include "framework/results/results_image.h"

#include <fstream>

#include <doctest/doctest.h>
#include <hdf5.h>

#include "framework/base/file.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/framework/results/results_content.h"
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
  const internal::ResultsImage image = ReadResultsImage(file.path);
  CHECK(image.hdf5 == file.bytes.substr(0, end));
  CHECK(image.has_checksum);
  const hid_t id = H5Fopen(file.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);  // HDF5 looks past it
  REQUIRE(id >= 0);
  CHECK(H5Lexists(id, "texts", H5P_DEFAULT) > 0);
  H5Fclose(id);
}

TEST_CASE("a right checksum does not make a wrong file right") {
  const OneFile file;
  std::string changed = file.bytes.substr(0, file.bytes.size() - 32);
  const size_t heap = changed.find("GCOL");  // the texts
  REQUIRE(heap != std::string::npos);
  changed[heap + 16] = 99;  // index of the first one, which HDF5 1.10 would look for without end
  Write(file.path, changed + ChecksumLine(changed));
  CHECK(ImageRefusal(file.path).find("its text is not in the heap at byte ") != std::string::npos);
}

TEST_CASE("damage is named") {
  const OneFile file;
  const std::string name = file.path.string() + ": ";
  std::string changed = file.bytes;
  changed[changed.size() / 2] ^= 1;
  Write(file.path, changed);
  CHECK(ImageRefusal(file.path) ==
        name + "damaged: its bytes are not those that its checksum was made of");
  changed = file.bytes;
  changed[changed.size() - 2] ^= 1;  // the checksum itself
  Write(file.path, changed);
  CHECK(ImageRefusal(file.path) ==
        name + "damaged: its bytes are not those that its checksum was made of");
  // As another program leaves it that has written to it.
  Write(file.path, file.bytes.substr(0, file.bytes.size() - 32));
  CHECK(ImageRefusal(file.path) ==
        name +
            "damaged, or written to by another program: the checksum behind its data is missing");
  Write(file.path, file.bytes + "\n");
  CHECK(ImageRefusal(file.path).starts_with(name + "damaged: superblock at byte 0: the file has "));
  Write(file.path, "");
  CHECK(ImageRefusal(file.path) == name + "no results file of emplace (HDF5), or not whole");
  Write(file.path, file.bytes.substr(0, 8));
  CHECK(ImageRefusal(file.path) ==
        name + "damaged: superblock at byte 0: it is not within the file");
}

TEST_CASE("a file of version 1 has no checksum, and its structure is looked at") {
  const TempDir folder;
  const fs::path path = folder / "r.h5";
  std::string bytes = ReadFile(VersionOneFiles()[0]);
  Write(path, bytes);
  CHECK_FALSE(ReadResultsImage(path).has_checksum);
  bytes[bytes.find("GCOL")] = 'X';
  Write(path, bytes);
  const std::string message = ImageRefusal(path);
  CAPTURE(message);
  CHECK(message.starts_with(path.string() + ": damaged: heap at byte "));
  CHECK(message.ends_with(": it is not there"));
}

}  // namespace
