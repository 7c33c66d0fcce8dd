#pragma once

// Readers under attack: one FuzzTarget per file format, in a file of its own. The fuzzer
// (fuzz_main.cc; clang's libFuzzer) feeds them changed inputs for as long as it is told to, the
// tests (replay_test.cc; any compiler) all that is kept: tests/fuzz/README.md.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/random.h"

namespace emplace::fuzz {

/// Changes a text in a place or two, byte by byte, to at most `most` bytes: libFuzzer's own
/// mutations.
using ChangeBytes = std::function<std::string(std::string_view text, std::size_t most)>;

/// What a mutator gets beside the input.
struct Mutation {
  Rng& rng;
  const ChangeBytes& bytes;
  std::size_t most;  ///< bytes of the result; a longer one is cut off
};

/// Another input from one that may be anything.
using Mutator = std::string (*)(std::string_view input, const Mutation& mutation);

/// One format with its readers.
struct FuzzTarget {
  const char* name;  ///< of the folders below corpus/ and crashes/
  const char* what;  ///< in a sentence
  /// Reads the input with everything that the program reads it with. InputError is the right answer
  /// to a wrong input. Whatever else is thrown, a CHECK, a sanitizer's report, seconds or gigabytes
  /// are crashes; so is an input that is read, written and then read otherwise.
  void (*read)(const std::string& input);
  Mutator mutate;
  /// Right inputs that the code itself writes, so that they follow the format; empty: all are in
  /// corpus/.
  std::vector<std::string> (*seeds)();
  std::size_t most_bytes;  ///< of an input
  /// Whether an input passes the first checks, so that `read` gets to its heart; nullptr: not
  /// asked.
  bool (*passes)(const std::string& input) = nullptr;
};

/// All of them, by name.
std::span<const FuzzTarget> FuzzTargets();

/// The one of this name; nullptr if there is none.
const FuzzTarget* FindTarget(std::string_view name);

/// Runs `read` and takes InputError for an answer. @return whether there was none
bool Reads(const std::function<void()>& read);

/// Aborts with the words if `holds` is not true: a promise of a reader that an input breaks.
void Promise(bool holds, const char* words);

}  // namespace emplace::fuzz
