#pragma once

namespace emplace {

/// What this program or module was built from: compiler and flags, and a checksum of all sources
/// under framework/ and profilers/, uncommitted changes included. A program and a module with equal
/// stamps agree on every type that passes between them. Hidden: each of the two has its own.
[[gnu::visibility("hidden")]] extern const char* const kSourceStamp;

}  // namespace emplace
