#include "framework/search/state.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <istream>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "framework/base/base64.h"
#include "framework/base/error.h"
#include "framework/base/version.h"
#include "framework/search/problem_id.h"
#include "framework/search/replicated_search.h"

namespace emplace {
namespace {

constexpr std::string_view kAgentMagic = "emplace-agent-state";
constexpr std::string_view kTrainerMagic = "emplace-trainer-state";
constexpr std::string_view kPolicyMagic = "emplace-policy";
constexpr int kVersion = 1;  // of all three
constexpr std::int64_t kMostThings = std::int64_t{1}
                                     << 60;  // so that counting further overflows nothing

static_assert(std::endian::native == std::endian::little);

// Rows, columns and base64 of a packed word; `rows` is -1 if the word is not packed.
struct PackedWord {
  std::int64_t rows = -1, cols = -1;
  std::string_view base64;
};

PackedWord SplitPacked(std::string_view word) {
  PackedWord split;
  const char* end = word.data() + word.size();
  const auto [x, rows_error] = std::from_chars(word.data(), end, split.rows);
  if (rows_error != std::errc() || x == end || *x != 'x') return {};
  const auto [colon, cols_error] = std::from_chars(x + 1, end, split.cols);
  if (cols_error != std::errc() || colon == end || *colon != ':') return {};
  split.base64 = {colon + 1, static_cast<std::size_t>(end - colon - 1)};
  return split;
}

std::uint64_t Fingerprint(const Problem& problem) {
  return Combined(IdOf(problem));
}

std::uint64_t Fingerprint(Problems problems) {
  std::vector<std::uint64_t> all;
  for (const auto& problem : problems) all.push_back(Fingerprint(*problem));
  return Checksum(std::as_bytes(std::span(all)));
}

}  // namespace

void StateVisitor::Begin(std::string_view agent, const Problem& problem) {
  problem_ = &problem;
  Header("agent state", kAgentMagic, agent);
  BelongsTo(Fingerprint(problem),
            "another problem",
            fmt::format("graph \"{}\" with {} groups on cluster \"{}\"",
                        problem.graph().name(),
                        problem.num_groups(),
                        problem.cluster().name()));
}

void StateVisitor::Begin(std::string_view agent, Problems problems) {
  Header("trainer state", kTrainerMagic, agent);
  BelongsTo(Fingerprint(problems),
            "other problems",
            fmt::format(
                "{} graphs, the first \"{}\"", problems.size(), problems.front()->graph().name()));
}

void StateVisitor::Begin(std::string_view agent) {
  Header("policy", kPolicyMagic, agent);
  if (!reading()) *out_ << '\n';
}

void StateVisitor::Header(const char* text, std::string_view magic, std::string_view agent) {
  text_ = text;
  if (!reading()) {
    *out_ << fmt::format("{} {} {}", magic, kVersion, agent);
    return;
  }
  if (Word("the header") != magic) {
    Fail(fmt::format("expected \"{} {} {}\" at the beginning", magic, kVersion, agent));
  }
  std::int64_t version = 0;
  Int("a version", version);
  const std::string wrong = WhyUnreadable(version, kVersion);
  if (!wrong.empty()) Fail("version: " + wrong);
  if (const std::string name = Word("an agent's name"); name != agent) {
    Fail(fmt::format("expected that of agent {}, got that of agent {}", agent, name));
  }
}

void StateVisitor::BelongsTo(std::uint64_t fingerprint,
                             const char* problems,
                             const std::string& described) {
  const std::string expected = fmt::format("{:016x}", fingerprint);
  if (!reading()) {
    *out_ << ' ' << expected << '\n';
  } else if (const std::string found = Word("a fingerprint"); found != expected) {
    Fail(fmt::format(
        "it was saved for {}: expected {} ({}), got {}", problems, expected, described, found));
  }
}

void StateVisitor::Fail(const std::string& message) const {
  throw InputError(fmt::format("{}: {}", text_, message));
}

std::string StateVisitor::Word(std::string_view what) {
  std::string word;
  if (!(*in_ >> word)) Fail(fmt::format("expected {}, got the end of the text", what));
  return word;
}

void StateVisitor::Int(std::string_view what, std::int64_t& value) {
  if (!reading()) {
    *out_ << fmt::format("{}\n", value);
    return;
  }
  const std::string word = Word(what);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    Fail(fmt::format("expected {}, got \"{}\"", what, word));
  }
}

void StateVisitor::Int(std::string_view what, int& value, int low, int high) {
  std::int64_t wide = value;
  Int(what, wide);
  if (!reading()) return;
  if (wide < low || wide > high) {
    Fail(fmt::format("expected {} from {} to {}, got {}", what, low, high, wide));
  }
  value = static_cast<int>(wide);
}

void StateVisitor::Count(std::string_view what, std::int64_t& value) {
  Amount(what, value);
  if (reading() && value > kMostThings) Fail(fmt::format("expected {}, got {}", what, value));
}

void StateVisitor::Amount(std::string_view what, std::int64_t& value) {
  Int(what, value);
  if (reading() && value < 0) Fail(fmt::format("expected {}, got {}", what, value));
}

void StateVisitor::Count(std::string_view what, int& value) {
  Int(what, value, 0, 1 << 30);
}

void StateVisitor::Flag(bool& value) {
  std::int64_t number = value;
  Int("0 or 1", number);
  if (number != 0 && number != 1) Fail(fmt::format("expected 0 or 1, got {}", number));
  value = number == 1;
}

void StateVisitor::Double(std::string_view what, double& value) {
  if (!reading()) {
    *out_ << fmt::format("{:016x}\n", std::bit_cast<std::uint64_t>(value));
    return;
  }
  const std::string word = Word(what);
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
  if (error != std::errc() || end != word.data() + word.size()) {
    Fail(fmt::format("expected {}, got \"{}\"", what, word));
  }
  value = std::bit_cast<double>(bits);
}

void StateVisitor::Generator(Rng& rng) {
  if (!reading()) {
    *out_ << rng << '\n';
    return;
  }
  Rng read;
  if (!(*in_ >> read)) Fail("expected a random generator's state");
  rng = read;
}

void StateVisitor::Devices(Placement& placement, const Problem& problem) {
  if (!reading()) {
    for (DeviceIndex device : placement.device) *out_ << fmt::format("{} ", device);
    *out_ << '\n';
    return;
  }
  placement.device.resize(problem.num_groups());
  for (int group = 0; group < problem.num_groups(); ++group) {
    std::int64_t device = 0;
    Int("a device", device);
    if (device < 0 || device >= problem.num_devices() ||
        !problem.allowed(group, static_cast<int>(device))) {
      Fail(fmt::format("expected an allowed device for group {}, got {}", group, device));
    }
    placement.device[group] = static_cast<DeviceIndex>(device);
  }
}

void StateVisitor::Result(Outcome& outcome, const Problem& problem) {
  if (reading()) {
    outcome = {};
    outcome.devices.resize(problem.num_devices());
  }
  Int("a step time", outcome.step_time);
  Flag(outcome.feasible);
  Size("devices", std::ssize(outcome.devices));
  for (DeviceOutcome& device : outcome.devices) {
    Int("a busy time", device.busy);
    Int("a memory peak", device.peak);
    Int("a deficit", device.deficit);
  }
}

void StateVisitor::Devices(Placement& placement) {
  EMPLACE_CHECK(problem_ != nullptr);
  Devices(placement, *problem_);
}

void StateVisitor::Result(Outcome& outcome) {
  EMPLACE_CHECK(problem_ != nullptr);
  Result(outcome, *problem_);
}

void StateVisitor::Score(emplace::Score& score) {
  Name("the word", "score");
  Int("a deficit", score.deficit);
  Int("a step time", score.step_time);
}

void StateVisitor::Name(std::string_view what, std::string_view name) {
  if (!reading()) {
    EMPLACE_CHECK(!name.empty() && name.find_first_of(" \t\r\n\v\f") == name.npos,
                  std::string(name));
    *out_ << name << '\n';
  } else if (const std::string found = Word(what); found != name) {
    Fail(fmt::format("expected {} {}, got {}", what, name, found));
  }
}

void StateVisitor::Size(std::string_view things, std::int64_t size) {
  std::int64_t found = size;
  Int(fmt::format("a number of {}", things), found);
  if (found != size) Fail(fmt::format("expected {} {}, got {}", size, things, found));
}

void StateVisitor::Text(std::string_view what, std::string& text) {
  constexpr std::string_view kMark = "text:";  // keeps an empty text a word
  if (!reading()) {
    *out_ << kMark << EncodeBase64(std::as_bytes(std::span(text))) << '\n';
    return;
  }
  const std::string word = Word(what);
  const auto bytes = word.starts_with(kMark)
                         ? DecodeBase64(std::string_view(word).substr(kMark.size()))
                         : std::nullopt;
  if (!bytes) Fail(fmt::format("expected {} as \"{}\" and base64, got \"{}\"", what, kMark, word));
  text.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void StateVisitor::Nested(std::string_view what, Stateful& object) {
  std::string text;
  if (!reading()) {
    std::ostringstream out;
    object.Save(out);
    text = out.str();
  }
  Text(what, text);
  if (reading()) {
    std::istringstream in(text);
    object.Load(in);
  }
}

template <class Number>
void StateVisitor::Write(std::int64_t rows, std::int64_t cols, const Number* numbers) {
  const std::span span(numbers, static_cast<std::size_t>(rows * cols));
  *out_ << fmt::format("{}x{}:{}\n", rows, cols, EncodeBase64(std::as_bytes(span)));
}

template <class Number>
void StateVisitor::Unpack(std::string_view what,
                          std::string_view base64,
                          std::int64_t count,
                          Number* numbers) {
  const auto bytes = DecodeBase64(base64);
  const std::size_t expected = static_cast<std::size_t>(count) * sizeof(Number);
  if (!bytes || bytes->size() != expected) {
    Fail(fmt::format("expected {} bytes in base64 for {}, got {}",
                     expected,
                     what,
                     bytes ? std::to_string(bytes->size()) : "other characters"));
  }
  if (expected > 0) std::memcpy(numbers, bytes->data(), expected);
}

void StateVisitor::Matrix(std::string_view what, emplace::Matrix& matrix) {
  if (!reading()) return Write(matrix.rows(), matrix.cols(), matrix.data());
  const std::string word = Word(what);
  const auto [rows, cols, base64] = SplitPacked(word);
  if (rows < 0) Fail(fmt::format("expected a matrix for {}", what));
  if (rows != matrix.rows() || cols != matrix.cols()) {
    Fail(fmt::format(
        "{} [{}, {}] expected, got [{}, {}]", what, matrix.rows(), matrix.cols(), rows, cols));
  }
  Unpack(what, base64, matrix.size(), matrix.data());
}

void StateVisitor::Table(UpdateTable& table) {
  const auto num_columns = std::ssize(table.columns);
  Size("columns", num_columns);
  for (const std::string& column : table.columns) Name("a column", column);
  if (!reading()) {
    EMPLACE_CHECK(std::ssize(table.values) == table.num_rows() * num_columns);
    return Write(table.num_rows(), num_columns, table.values.data());
  }
  const std::string word = Word("a table");
  const auto [rows, cols, base64] = SplitPacked(word);
  // Checks that the text is long enough before the memory is allocated.
  if (rows < 0 || cols != num_columns ||
      (cols > 0 && rows > static_cast<std::int64_t>(base64.size()) / cols)) {
    Fail(fmt::format("expected a table of {} columns", num_columns));
  }
  std::vector<double> values(static_cast<std::size_t>(rows * cols));
  Unpack("the table", base64, rows * cols, values.data());
  table.values = std::move(values);
}

void StateVisitor::Set(std::string_view what, std::unordered_set<std::uint64_t>& set) {
  std::vector<std::int64_t> sorted(set.begin(), set.end());
  std::ranges::sort(
      sorted, {}, [](std::int64_t number) { return static_cast<std::uint64_t>(number); });
  List(what, sorted, [&](std::int64_t& number) { Int("a number", number); });
  if (reading()) set = {sorted.begin(), sorted.end()};
}

void Stateful::Save(std::ostream& out) {
  StateVisitor v(out);
  VisitState(v);
}

void Stateful::Load(std::istream& in) {
  StateVisitor v(in);
  VisitState(v);
}

}  // namespace emplace
