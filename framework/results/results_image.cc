#include "framework/results/results_image.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "framework/base/file.h"
#include "framework/results/hdf5_structure.h"

namespace emplace::internal {
namespace {

constexpr std::int64_t kMostResultsBytes = std::int64_t{1} << 36;
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::string_view kLineBegin = "\nemplace-results crc32 ";
constexpr size_t kLineBytes = kLineBegin.size() + 8 + 1;
static_assert(kLineBytes == 32);

}  // namespace

std::string ChecksumLine(std::string_view hdf5) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(hdf5.data());
  const auto checksum = static_cast<std::uint32_t>(crc32_z(0, bytes, hdf5.size()));
  return fmt::format("{}{:08x}\n", kLineBegin, checksum);
}

ResultsImage ReadResultsImage(const std::filesystem::path& path) {
  ResultsImage image{ReadFile(path, kMostResultsBytes)};
  std::string& bytes = image.hdf5;
  if (!bytes.starts_with(kHdf5Signature)) {
    throw DamagedError(
        fmt::format("{}: no results file of emplace (HDF5), or not whole", path.string()));
  }
  const size_t end = bytes.size() < kLineBytes ? 0 : bytes.size() - kLineBytes;
  const std::string line = bytes.substr(end);
  if (line.starts_with(kLineBegin)) {
    bytes.resize(end);
    if (line != ChecksumLine(bytes)) {
      throw DamagedError(fmt::format(
          "{}: damaged: its bytes are not those that its checksum was made of", path.string()));
    }
    image.has_checksum = true;
  }
  // With a checksum, too: who makes a file to do harm makes the checksum as well.
  if (const std::string damage = FindHdf5Damage(bytes); !damage.empty()) {
    throw DamagedError(fmt::format("{}: damaged: {}", path.string(), damage));
  }
  return image;
}

}  // namespace emplace::internal
