#pragma once

// Names that come out of a file and become parts of a path, of a file or of a group in HDF5:
// whatever they are, what is read and written stays below the folder that was asked for.

#include <string_view>

namespace emplace {

/// Whether `name` is one part of a path: not empty, not "." or "..", without '/' and control
/// characters (a zero byte would end the path for the operating system), of at most 255 bytes.
bool IsPathPart(std::string_view name);

/// What IsPathPart() wants, for messages that begin "expected".
inline constexpr std::string_view kPathPartHelp =
    "a text without '/' and control characters, not . or .., of 1 to 255 bytes";

/// Whether `path` leads to something below the folder that it is joined to: one or more such parts
/// with '/' between them. What links in that folder point at is not looked at.
bool IsPathBelow(std::string_view path);

}  // namespace emplace
