#pragma once

// Names from a file that become parts of a path, of a file or of a group in HDF5. These checks
// ensure that no such name leads to a place outside the folder of the caller.

#include <string_view>

namespace emplace {

/// Returns whether `name` is one part of a path: not empty, not "." or "..", without '/' and
/// control characters (a zero byte would end the path for the system), at most 255 bytes long.
bool IsPathPart(std::string_view name);

/// The requirement of IsPathPart(), for messages that begin with "expected".
inline constexpr std::string_view kPathPartHelp =
    "a text without '/' and control characters, not . or .., of 1 to 255 bytes";

/// Returns whether `path` names something below the folder that it is joined to: one or more path
/// parts, separated by '/'. The targets of links in that folder are not checked.
bool IsPathBelow(std::string_view path);

}  // namespace emplace
