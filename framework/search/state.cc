#include "framework/search/state.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <istream>
#include <iterator>
#include <ostream>

#include <fmt/format.h>

#include "framework/base/base64.h"
#include "framework/base/error.h"
#include "framework/base/version.h"

namespace emplace {
namespace {

constexpr std::string_view kAgentMagic = "emplace-agent-state";
constexpr std::string_view kTrainerMagic = "emplace-trainer-state";
constexpr std::string_view kPolicyMagic = "emplace-policy";
constexpr int kVersion = 1;  // of all three

void Mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3u;
  hash ^= hash >> 29;
}

void Mix(std::uint64_t& hash, std::string_view text) {
  Mix(hash, text.size());
  for (unsigned char c : text) Mix(hash, c);
}

static_assert(std::endian::native == std::endian::little);

template <class Number>
std::string Packed(std::int64_t rows, std::int64_t cols, const Number* numbers) {
  const std::span span(numbers, static_cast<std::size_t>(rows * cols));
  return fmt::format("{}x{}:{}\n", rows, cols, EncodeBase64(std::as_bytes(span)));
}

// Rows, columns and base64 of a packed word; rows is -1 if it is none.
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

std::uint64_t Fingerprint(Problems problems) {
  std::uint64_t hash = 0;
  for (const auto& problem : problems) Mix(hash, emplace::Fingerprint(*problem));
  return hash;
}

}  // namespace

std::uint64_t Fingerprint(const Problem& problem) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  Mix(hash, problem.graph().name());
  Mix(hash, problem.num_ops());
  for (const std::string& name : problem.cluster().DeviceNames()) Mix(hash, name);
  for (int group : problem.grouping().group_of_op()) Mix(hash, group);
  for (Nanos time : problem.costs().time) Mix(hash, time);
  for (const Tensor& tensor : problem.graph().tensors()) Mix(hash, tensor.bytes);
  return hash;
}

StateWriter::StateWriter(std::ostream& out, std::string_view agent, const Problem& problem)
    : out_(out) {
  out_ << fmt::format("{} {} {} {:016x}\n", kAgentMagic, kVersion, agent, Fingerprint(problem));
}

StateWriter::StateWriter(std::ostream& out, std::string_view agent, Problems problems) : out_(out) {
  out_ << fmt::format("{} {} {} {:016x}\n", kTrainerMagic, kVersion, agent, Fingerprint(problems));
}

StateWriter::StateWriter(std::ostream& out, std::string_view agent) : out_(out) {
  out_ << fmt::format("{} {} {}\n", kPolicyMagic, kVersion, agent);
}

void StateWriter::Int(std::int64_t value) {
  out_ << fmt::format("{}\n", value);
}

void StateWriter::Double(double value) {
  out_ << fmt::format("{:016x}\n", std::bit_cast<std::uint64_t>(value));
}

void StateWriter::Generator(const Rng& rng) {
  out_ << rng << '\n';
}

void StateWriter::Devices(const Placement& placement) {
  std::string text;
  for (DeviceIndex device : placement.device)
    fmt::format_to(std::back_inserter(text), "{} ", device);
  out_ << text << '\n';
}

void StateWriter::Result(const Outcome& outcome) {
  out_ << fmt::format("{} {:d} {}\n", outcome.step_time, outcome.feasible, outcome.devices.size());
  for (const DeviceOutcome& device : outcome.devices) {
    out_ << fmt::format("{} {} {}\n", device.busy, device.peak, device.deficit);
  }
}

void StateWriter::Score(const emplace::Score& score) {
  out_ << fmt::format("score {} {}\n", score.deficit, score.step_time);
}

void StateWriter::Name(std::string_view name) {
  EMPLACE_CHECK(!name.empty() && name.find_first_of(" \t\r\n\v\f") == name.npos, std::string(name));
  out_ << name << '\n';
}

void StateWriter::Text(std::string_view text) {
  // A word of its own, even if the text is empty.
  out_ << "text:" << EncodeBase64(std::as_bytes(std::span(text))) << '\n';
}

void StateWriter::Matrix(const emplace::Matrix& matrix) {
  out_ << Packed(matrix.rows(), matrix.cols(), matrix.data());
}

void StateWriter::Table(const UpdateTable& table) {
  const auto cols = static_cast<std::int64_t>(table.columns.size());
  EMPLACE_CHECK(static_cast<std::int64_t>(table.values.size()) == table.num_rows() * cols);
  Int(cols);
  for (const std::string& column : table.columns) Name(column);
  out_ << Packed(table.num_rows(), cols, table.values.data());
}

StateReader::StateReader(std::istream& in,
                         const char* text,
                         std::string_view magic,
                         std::string_view agent)
    : in_(in), text_(text) {
  if (Word("the header") != magic) {
    Fail(fmt::format("expected \"{} {} {}\" at its beginning", magic, kVersion, agent));
  }
  const std::string wrong = WhyUnreadable(Int("a version"), kVersion);
  if (!wrong.empty()) Fail("version: " + wrong);
  if (const std::string name = Word("an agent's name"); name != agent) {
    Fail(fmt::format("expected that of agent {}, got that of agent {}", agent, name));
  }
}

StateReader::StateReader(std::istream& in, std::string_view agent, const Problem& problem)
    : StateReader(in, "agent state", kAgentMagic, agent) {
  problem_ = &problem;
  ReadFingerprint(Fingerprint(problem),
                  fmt::format("it was saved for another problem: expected {{}} (graph \"{}\" with "
                              "{} groups on cluster \"{}\"), got {{}}",
                              problem.graph().name(),
                              problem.num_groups(),
                              problem.cluster().name()));
}

StateReader::StateReader(std::istream& in, std::string_view agent, Problems problems)
    : StateReader(in, "trainer state", kTrainerMagic, agent) {
  ReadFingerprint(Fingerprint(problems),
                  fmt::format("it was saved for other problems: expected {{}} ({} graphs, the "
                              "first \"{}\"), got {{}}",
                              problems.size(),
                              problems.front()->graph().name()));
}

StateReader::StateReader(std::istream& in, std::string_view agent)
    : StateReader(in, "policy", kPolicyMagic, agent) {
}

void StateReader::Fail(const std::string& message) const {
  throw InputError(fmt::format("{}: {}", text_, message));
}

void StateReader::ReadFingerprint(std::uint64_t fingerprint, const std::string& message) {
  const std::string expected = fmt::format("{:016x}", fingerprint);
  if (const std::string found = Word("a fingerprint"); found != expected) {
    Fail(fmt::format(fmt::runtime(message), expected, found));
  }
}

template <class Number>
void StateReader::Unpack(std::string_view what,
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

std::string StateReader::Word(std::string_view what) {
  std::string word;
  if (!(in_ >> word)) Fail(fmt::format("expected {}, it ends there", what));
  return word;
}

std::int64_t StateReader::Int(std::string_view what) {
  const std::string word = Word(what);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    Fail(fmt::format("expected {}, got \"{}\"", what, word));
  }
  return value;
}

int StateReader::Int(std::string_view what, int low, int high) {
  const std::int64_t value = Int(what);
  if (value < low || value > high) {
    Fail(fmt::format("expected {} from {} to {}, got {}", what, low, high, value));
  }
  return static_cast<int>(value);
}

std::int64_t StateReader::Count(std::string_view what) {
  const std::int64_t value = Int(what);
  if (value < 0) Fail(fmt::format("expected {}, got {}", what, value));
  return value;
}

int StateReader::Counter(std::string_view what) {
  return Int(what, 0, 1 << 30);
}

bool StateReader::Flag() {
  const std::int64_t value = Int("0 or 1");
  if (value != 0 && value != 1) Fail(fmt::format("expected 0 or 1, got {}", value));
  return value == 1;
}

double StateReader::Double(std::string_view what) {
  const std::string word = Word(what);
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
  if (error != std::errc() || end != word.data() + word.size()) {
    Fail(fmt::format("expected {}, got \"{}\"", what, word));
  }
  return std::bit_cast<double>(bits);
}

void StateReader::Generator(Rng& rng) {
  Rng read;
  if (!(in_ >> read)) Fail("expected a random generator's state");
  rng = read;
}

Placement StateReader::Devices(const Problem& problem) {
  Placement placement;
  placement.device.resize(problem.num_groups());
  for (int group = 0; group < problem.num_groups(); ++group) {
    const std::int64_t device = Int("a device");
    if (device < 0 || device >= problem.num_devices() ||
        !problem.allowed(group, static_cast<int>(device))) {
      Fail(fmt::format("expected an allowed device for group {}, got {}", group, device));
    }
    placement.device[group] = static_cast<DeviceIndex>(device);
  }
  return placement;
}

Outcome StateReader::Result(const Problem& problem) {
  Outcome outcome;
  outcome.step_time = Int("a step time");
  outcome.feasible = Flag();
  if (const std::int64_t count = Int("a number of devices"); count != problem.num_devices()) {
    Fail(fmt::format("expected {} devices, got {}", problem.num_devices(), count));
  }
  outcome.devices.resize(problem.num_devices());
  for (DeviceOutcome& device : outcome.devices) {
    device.busy = Int("a busy time");
    device.peak = Int("a memory peak");
    device.deficit = Int("a deficit");
  }
  return outcome;
}

Placement StateReader::Devices() {
  EMPLACE_CHECK(problem_ != nullptr);
  return Devices(*problem_);
}

Outcome StateReader::Result() {
  EMPLACE_CHECK(problem_ != nullptr);
  return Result(*problem_);
}

Score StateReader::Score() {
  Name("the word", "score");
  const std::int64_t deficit = Int("a deficit");
  return {deficit, Int("a step time")};
}

void StateReader::Name(std::string_view what, std::string_view expected) {
  if (const std::string name = Word(what); name != expected) {
    Fail(fmt::format("expected {} {}, got {}", what, expected, name));
  }
}

std::string StateReader::Text(std::string_view what) {
  constexpr std::string_view kMark = "text:";
  const std::string word = Word(what);
  const auto bytes = word.starts_with(kMark)
                         ? DecodeBase64(std::string_view(word).substr(kMark.size()))
                         : std::nullopt;
  if (!bytes) Fail(fmt::format("expected {} as \"{}\" and base64, got \"{}\"", what, kMark, word));
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

void StateReader::Matrix(std::string_view what, emplace::Matrix& matrix) {
  const std::string word = Word(what);
  const auto [rows, cols, base64] = SplitPacked(word);
  if (rows < 0) Fail(fmt::format("expected a matrix for {}", what));
  if (rows != matrix.rows() || cols != matrix.cols()) {
    Fail(fmt::format(
        "{} [{}, {}] expected, got [{}, {}]", what, matrix.rows(), matrix.cols(), rows, cols));
  }
  Unpack(what, base64, matrix.size(), matrix.data());
}

void StateReader::Table(UpdateTable& table) {
  const auto num_columns = static_cast<std::int64_t>(table.columns.size());
  if (const std::int64_t count = Int("a number of columns"); count != num_columns) {
    Fail(fmt::format("expected {} columns, got {}", num_columns, count));
  }
  for (const std::string& column : table.columns) Name("a column", column);
  const std::string word = Word("a table");
  const auto [rows, cols, base64] = SplitPacked(word);
  // Before the memory for it is taken: the text is long enough.
  if (rows < 0 || cols != num_columns ||
      (cols > 0 && rows > static_cast<std::int64_t>(base64.size()) / cols)) {
    Fail(fmt::format("expected a table of {} columns", num_columns));
  }
  std::vector<double> values(static_cast<std::size_t>(rows * cols));
  Unpack("the table", base64, rows * cols, values.data());
  table.values = std::move(values);
}

}  // namespace emplace
