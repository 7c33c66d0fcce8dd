#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace emplace {

/// Returns the content of a file. Decompresses a file with the gzip magic, whatever its name is.
/// @param max_bytes  limit of the content; unpacked content has a limit of 2 GiB too. Larger
///   content is refused before memory is allocated for it. [B]
/// @throws InputError naming the file if it does not exist, is a folder, cannot be read, is a
///   truncated or corrupt gzip stream, or exceeds `max_bytes`
std::string ReadFile(const std::filesystem::path& path,
                     std::int64_t max_bytes = std::int64_t{1} << 31);

/// Writes a temporary file next to `path` and renames it, so no reader ever sees a part of the
/// content. Compresses the content if the name ends in ".gz" (deterministically, no time stamp).
///
/// A process that is killed while it writes leaves a hidden file ".NAME.NUMBER.tmp". The next
/// process that writes the file removes it. On a file system without locks it stays, because nobody
/// can find out there whether its writer is alive.
/// @throws RunError naming the file and the reason if the folder does not exist or cannot be
///   written; no temporary file is left then
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// Checks whether WriteFileAtomically() could begin, so that hours of work do not end in a failed
/// write. Leaves the file unchanged.
/// @throws RunError as WriteFileAtomically() does
void RequireWritable(const std::filesystem::path& path);

}  // namespace emplace
