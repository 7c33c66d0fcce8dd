#pragma once

// The text format of saved agents, trainers and policies. A text is a sequence of words separated
// by white space, after a line that names the agent and the problem or problems; a policy belongs
// to no problem. A class visits each piece of its state once, in one function to write and read:
//
//   void CoordinateAgent::VisitState(StateVisitor& v) {
//     v.Begin("coordinate", *problem_);
//     v.Generator(rng_);
//     v.Int("a number of steps", sweep_, 0, config_.sweeps);
//   }
//
// Floating-point numbers are written exactly. A single one is written as its bits in hexadecimal;
// many are one word with their shape and the base64 of their little-endian bytes: "8x32:AACAPw...".
// Results files store these texts (framework/results/FORMAT.md, "Checkpoints and policy files").

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "framework/base/random.h"
#include "framework/learn/matrix.h"
#include "framework/search/evaluator.h"
#include "framework/search/outcome_table.h"
#include "framework/search/stateful.h"
#include "framework/search/update_table.h"

namespace emplace {

using Problems = std::span<const std::shared_ptr<const Problem>>;

/// Either writes every piece that it visits, or reads and sets it. A visitor that reads throws
/// InputError "agent state: expected ..." (or "trainer state", "policy") if the text does not
/// match. `what` names the piece in this message: "a number of steps".
class StateVisitor {
 public:
  explicit StateVisitor(std::ostream& out) : out_(&out) {}
  explicit StateVisitor(std::istream& in) : in_(&in) {}
  bool reading() const { return in_ != nullptr; }

  /// Visits the first line, "emplace-agent-state 1 <agent> <fingerprint of the problem's id>".
  /// @throws InputError if the text is not a state, or is of another version, agent or problem;
  ///   names the expected and the found value
  void Begin(std::string_view agent, const Problem& problem);
  /// Visits the first line "emplace-trainer-state 1 <agent> <fingerprint of all problems>".
  void Begin(std::string_view agent, Problems problems);
  /// Visits the first line "emplace-policy 1 <agent>".
  void Begin(std::string_view agent);

  void Int(std::string_view what, std::int64_t& value);
  /// @throws InputError also outside [low, high]
  void Int(std::string_view what, int& value, int low, int high);
  /// Visits a count: not negative and at most 2^60; as an int at most 2^30.
  void Count(std::string_view what, std::int64_t& value);
  void Count(std::string_view what, int& value);
  /// Visits a time [ns] or a number of bytes, which is not negative.
  void Amount(std::string_view what, std::int64_t& value);
  void Flag(bool& value);
  void Double(std::string_view what, double& value);
  void Generator(Rng& rng);
  /// Visits the devices of all groups of the problem, on one line.
  /// @throws InputError also for a device that a group may not run on
  void Devices(Placement& placement, const Problem& problem);
  /// Visits step time, feasibility and the numbers of the devices, but not channels and op times.
  void Result(Outcome& outcome, const Problem& problem);
  /// As above, for the problem that was passed to Begin().
  void Devices(Placement& placement);
  void Result(Outcome& outcome);
  void Score(emplace::Score& score);
  /// Visits a known name of at least one character and without white space.
  /// @throws InputError "agent state: expected parameter weights, got bias"
  void Name(std::string_view what, std::string_view name);
  /// Visits a known count. @throws InputError "agent state: expected 2 columns, got 1"
  void Size(std::string_view things, std::int64_t size);
  /// Visits any bytes, as base64.
  void Text(std::string_view what, std::string& text);
  /// Visits the state of another object, as a text.
  void Nested(std::string_view what, Stateful& object);
  /// Visits a matrix of known shape.
  /// @throws InputError with the expected and the found shape
  void Matrix(std::string_view what, emplace::Matrix& matrix);
  /// @param table  has the columns; its rows are written or set
  void Table(UpdateTable& table);
  /// Visits a set of numbers.
  void Set(std::string_view what, std::unordered_set<std::uint64_t>& set);

  /// Visits a list of any length.
  /// @param what   names the number of items in messages
  /// @param visit  visits one item
  template <class Item, class Visit>
  void List(std::string_view what, std::vector<Item>& list, const Visit& visit) {
    std::int64_t size = std::ssize(list);
    Count(what, size);
    Items(size, list, visit);
  }
  /// Visits a list of `low` to `high` items.
  template <class Item, class Visit>
  void List(std::string_view what, std::vector<Item>& list, int low, int high, const Visit& visit) {
    auto size = static_cast<int>(list.size());
    Int(what, size, low, high);
    Items(size, list, visit);
  }
  /// Visits a value that may be missing.
  template <class Value, class Visit>
  void Optional(std::optional<Value>& value, const Visit& visit) {
    bool there = value.has_value();
    Flag(there);
    if (reading()) value.reset();
    if (!there) return;
    if (reading()) value.emplace();
    visit(*value);
  }

  /// @throws InputError "agent state: `message`", "trainer state: ..." or "policy: ..."
  [[noreturn]] void Fail(const std::string& message) const;

 private:
  // Makes items one by one, so that a text that ends early takes no memory for the rest.
  template <class Item, class Visit>
  void Items(std::int64_t size, std::vector<Item>& list, const Visit& visit) {
    if (reading()) list.clear();
    for (std::int64_t i = 0; i < size; ++i) {
      if (reading()) list.emplace_back();
      visit(list[i]);
    }
  }
  void Header(const char* text, std::string_view magic, std::string_view agent);
  // @param problems  "another problem"   @param described  the expected ones
  void BelongsTo(std::uint64_t fingerprint, const char* problems, const std::string& described);
  std::string Word(std::string_view what);
  template <class Number>
  void Write(std::int64_t rows, std::int64_t cols, const Number* numbers);
  template <class Number>
  void Unpack(std::string_view what, std::string_view base64, std::int64_t count, Number* numbers);

  std::ostream* out_ = nullptr;  // one of the two is set
  std::istream* in_ = nullptr;
  const char* text_ = "agent state";  // the kind of text, for messages
  const Problem* problem_ = nullptr;
};

}  // namespace emplace
