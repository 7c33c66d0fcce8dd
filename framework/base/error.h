#pragma once

// Errors are reported in three separate ways:
//   InputError  the user's mistake: a file, key, value or argument (exit code 2)
//   RunError    the environment fails: an unwritable disk, a broken device (exit code 1)
//   CHECK       a mistake in the program: prints place and values and aborts, in every build type
// A foreseen outcome, such as a placement that does not fit, is a value and not an error.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// The user's input is wrong. The message names file, place, value, expected form and choices.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The run failed although the input was right.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the end of a message about an unknown `value`: "; did you mean \"k80\"? choices: a100,
/// k80". Omits the suggestion if no choice is similar. Lists at most 20 choices, counts the others.
/// If `value` is the name that a choice had in an earlier version, returns only the new name:
/// "; it is now called \"max_load_dp\"".
std::string ChoicesHint(std::string_view value, std::span<const std::string> choices);

/// @throws InputError "`where`: unknown `what` \"value\"; did you mean ...".
[[noreturn]] void ThrowUnknown(std::string_view where,
                               std::string_view what,
                               std::string_view value,
                               std::span<const std::string> choices);

/// Returns body(). Puts a place before the message of an InputError: "`place`: message".
template <class Body>
auto AtPlace(const std::string& place, const Body& body) {
  try {
    return body();
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.what());
  }
}

namespace internal {
[[noreturn]] void CheckFailed(const char* file,
                              int line,
                              const char* condition,
                              const std::string& details);
}  // namespace internal

}  // namespace emplace

/// Aborts with file, line, condition and an optional std::string of details. Enabled in all builds.
#define EMPLACE_CHECK(condition, ...)                               \
  (static_cast<bool>(condition) ? void()                            \
                                : ::emplace::internal::CheckFailed( \
                                      __FILE__, __LINE__, #condition, std::string{__VA_ARGS__}))

/// The same check for inner loops, disabled by NDEBUG.
#ifdef NDEBUG
#define EMPLACE_DCHECK(condition, ...) void()
#else
#define EMPLACE_DCHECK(condition, ...) EMPLACE_CHECK(condition, __VA_ARGS__)
#endif
