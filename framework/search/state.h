#pragma once

// The texts in which agents and trainers save themselves between two steps, and in which policies
// are kept: words separated by white space, behind a line that names the agent and the problem or
// problems; a policy belongs to no problem. Floating-point numbers are written exactly: single ones
// as hexadecimal bits, many in one word as their shape and the base64 of their bytes,
// little-endian: "8x32:AACAPw...". framework/results/FORMAT.md ("Checkpoints and policy files")
// says where these texts are kept.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "framework/base/random.h"
#include "framework/learn/matrix.h"
#include "framework/search/evaluator.h"
#include "framework/search/outcome_table.h"
#include "framework/search/update_table.h"

namespace emplace {

/// A hash of what a saved state depends on: names of graph and devices, number of ops, grouping,
/// costs, bytes of tensors.
std::uint64_t Fingerprint(const Problem& problem);

using Problems = std::span<const std::shared_ptr<const Problem>>;

class StateWriter {
 public:
  /// Writes "emplace-agent-state 1 <agent> <fingerprint>".
  StateWriter(std::ostream& out, std::string_view agent, const Problem& problem);
  /// Writes "emplace-trainer-state 1 <agent> <fingerprint of all>".
  StateWriter(std::ostream& out, std::string_view agent, Problems problems);
  /// Writes "emplace-policy 1 <agent>".
  StateWriter(std::ostream& out, std::string_view agent);
  void Int(std::int64_t value);
  void Double(double value);
  void Generator(const Rng& rng);
  /// The devices of all groups, on one line.
  void Devices(const Placement& placement);
  /// Step time, feasibility and what each device tells; neither channels nor times of ops.
  void Result(const Outcome& outcome);
  void Score(const emplace::Score& score);
  /// @param name  at least one character, no white space
  void Name(std::string_view name);
  /// Any bytes, as base64.
  void Text(std::string_view text);
  void Matrix(const emplace::Matrix& matrix);
  void Table(const UpdateTable& table);

 private:
  std::ostream& out_;
};

/// Reads in the order of writing. Every function throws InputError "agent state: expected ..." (or
/// "trainer state", "policy") when the text is not what was written.
class StateReader {
 public:
  /// @throws InputError if the text is no state, or that of another version, agent or problem:
  ///   naming what was expected and what was found
  StateReader(std::istream& in, std::string_view agent, const Problem& problem);
  StateReader(std::istream& in, std::string_view agent, Problems problems);
  StateReader(std::istream& in, std::string_view agent);
  std::int64_t Int(std::string_view what);
  /// @throws InputError also outside [low, high]
  int Int(std::string_view what, int low, int high);
  /// A number of things: not negative.
  std::int64_t Count(std::string_view what);
  /// The same, of things that an int goes on counting: at most 2^30.
  int Counter(std::string_view what);
  bool Flag();
  double Double(std::string_view what);
  void Generator(Rng& rng);
  /// @throws InputError also for a device that a group may not run on
  Placement Devices(const Problem& problem);
  Outcome Result(const Problem& problem);
  /// The same for the one problem given to the constructor.
  Placement Devices();
  Outcome Result();
  emplace::Score Score();
  /// @throws InputError unless it is `expected`   @param what  "a parameter"
  void Name(std::string_view what, std::string_view expected);
  std::string Text(std::string_view what);
  /// Overwrites a matrix of the shape that was written.
  /// @throws InputError naming the expected and the found shape     @param what  its name
  void Matrix(std::string_view what, emplace::Matrix& matrix);
  /// @param table  has the columns that were written; gets the rows
  void Table(UpdateTable& table);
  /// @throws InputError "agent state: `message`", "trainer state: ..." or "policy: ..."
  [[noreturn]] void Fail(const std::string& message) const;

 private:
  StateReader(std::istream& in, const char* text, std::string_view magic, std::string_view agent);
  std::string Word(std::string_view what);
  // @param message  with {} for the expected and the found one
  void ReadFingerprint(std::uint64_t fingerprint, const std::string& message);
  template <class Number>
  void Unpack(std::string_view what, std::string_view base64, std::int64_t count, Number* numbers);

  std::istream& in_;
  const char* text_;  // what is read, for messages
  const Problem* problem_ = nullptr;
};

}  // namespace emplace
