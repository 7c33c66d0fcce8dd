#pragma once

// Are the tests compiled with a sanitizer? What is left out then, and why: tests/README.md.
//
//   TEST_CASE("the formulas of the tables are the papers'" * doctest::skip(kUnderSanitizers)) {

namespace emplace::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizers = true;
#else
inline constexpr bool kUnderSanitizers = false;
#endif

/// Expensive randomised suites divide their rounds by this: other values in the same code are the
/// release build's concern.
inline constexpr int kSanitizerDivisor = kUnderSanitizers ? 5 : 1;

/// ThreadSanitizer does not follow threads of a process forked by one that has threads already.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

}  // namespace emplace::testing
