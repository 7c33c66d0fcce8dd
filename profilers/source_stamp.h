#pragma once

namespace emplace {

/// Identifies the build of this program or module: compiler, flags, and a checksum of all sources
/// under framework/ and profilers/, uncommitted changes included. A program and a module with equal
/// stamps agree on every type that they exchange. Hidden, because each of the two has its own.
[[gnu::visibility("hidden")]] extern const char* const kSourceStamp;

}  // namespace emplace
