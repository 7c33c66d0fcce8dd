#include "framework/results/results_image.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "framework/base/file.h"

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

std::string ReadResultsImage(const std::filesystem::path& path) {
  std::string bytes = ReadFile(path, kMostResultsBytes);
  const auto fail = [&](const std::string& why) {
    throw DamagedError(fmt::format("{}: {}", path.string(), why));
  };
  if (!bytes.starts_with(kHdf5Signature))
    fail("not a results file of emplace (HDF5), or incomplete");
  const size_t end = bytes.size() < kLineBytes ? 0 : bytes.size() - kLineBytes;
  const std::string line = bytes.substr(end);
  if (!line.starts_with(kLineBegin)) {
    fail(
        "the checksum at its end is missing: damaged, or written to by another program or by a "
        "version of emplace before format 2; run it again");
  }
  bytes.resize(end);
  if (line != ChecksumLine(bytes)) {
    fail("damaged: its checksum does not match its bytes");
  }
  return bytes;
}

}  // namespace emplace::internal
