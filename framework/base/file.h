#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace emplace {

/// The whole file; one that starts with the gzip magic is decompressed, whatever its name.
/// @param max_bytes  refuse more than this, unpacked (then at most 2 GiB) before it is held [B]
/// @throws InputError if it does not exist, is a folder, cannot be read, is a truncated or corrupt
///   gzip stream, or exceeds `max_bytes`; names the file.
std::string ReadFile(const std::filesystem::path& path,
                     std::int64_t max_bytes = std::int64_t{1} << 31);

/// Writes next to `path` and renames, so that no reader ever sees a part of it. A name that ends in
/// ".gz" is compressed (deterministically: no time stamp).
/// @throws RunError if the folder does not exist or cannot be written; names the file and the
///   reason. Nothing is left behind then. What a process leaves that is killed meanwhile, hidden as
///   ".NAME.NUMBER.tmp", is removed by the next that writes the file; on a file system without
///   locks it stays, for nobody knows there whether its writer lives.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// Finds out before hours of work whether WriteFileAtomically() could begin; leaves the file as it
/// is. @throws RunError as it does
void RequireWritable(const std::filesystem::path& path);

}  // namespace emplace
