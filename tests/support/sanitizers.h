#pragma once

// Are the tests compiled with a sanitizer?
//
// Test cases that hold results against published figures or committed files, or that wait for an
// agent to learn, tell a sanitizer nothing that smaller ones do not tell it in a tenth of the time:
//
//   TEST_CASE("the formulas of the tables are the papers'" * doctest::skip(kUnderSanitizers)) {

namespace emplace::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizers = true;
#else
inline constexpr bool kUnderSanitizers = false;
#endif

}  // namespace emplace::testing
