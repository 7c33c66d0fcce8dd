#include "agents/common/state.h"

#include <bit>
#include <charconv>
#include <istream>
#include <ostream>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr std::string_view kMagic = "emplace-agent-state";

void Mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3u;
  hash ^= hash >> 29;
}

void Mix(std::uint64_t& hash, std::string_view text) {
  Mix(hash, text.size());
  for (unsigned char c : text) Mix(hash, c);
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
  out_ << fmt::format("{} 1 {} {:016x}\n", kMagic, agent, Fingerprint(problem));
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

StateReader::StateReader(std::istream& in, std::string_view agent, const Problem& problem)
    : in_(in), problem_(problem) {
  if (Word("the header") != kMagic) {
    throw InputError(
        fmt::format("agent state: expected \"{} 1 {}\" at its beginning", kMagic, agent));
  }
  if (const std::string version = Word("a version"); version != "1") {
    throw InputError(fmt::format("agent state: expected version 1, got {}", version));
  }
  if (const std::string name = Word("an agent's name"); name != agent) {
    throw InputError(
        fmt::format("agent state: expected that of agent {}, got that of agent {}", agent, name));
  }
  if (Word("a fingerprint") != fmt::format("{:016x}", Fingerprint(problem))) {
    throw InputError(fmt::format(
        "agent state: it was saved for another problem than graph \"{}\" with {} groups on "
        "cluster \"{}\"",
        problem.graph().name(),
        problem.num_groups(),
        problem.cluster().name()));
  }
}

std::string StateReader::Word(std::string_view what) {
  std::string word;
  if (!(in_ >> word))
    throw InputError(fmt::format("agent state: expected {}, it ends there", what));
  return word;
}

std::int64_t StateReader::Int(std::string_view what) {
  const std::string word = Word(what);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw InputError(fmt::format("agent state: expected {}, got \"{}\"", what, word));
  }
  return value;
}

double StateReader::Double(std::string_view what) {
  const std::string word = Word(what);
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw InputError(fmt::format("agent state: expected {}, got \"{}\"", what, word));
  }
  return std::bit_cast<double>(bits);
}

void StateReader::Generator(Rng& rng) {
  Rng read;
  if (!(in_ >> read)) throw InputError("agent state: expected a random generator's state");
  rng = read;
}

Placement StateReader::Devices() {
  Placement placement;
  placement.device.resize(problem_.num_groups());
  for (int group = 0; group < problem_.num_groups(); ++group) {
    const std::int64_t device = Int("a device");
    if (device < 0 || device >= problem_.num_devices() ||
        !problem_.allowed(group, static_cast<int>(device))) {
      throw InputError(fmt::format(
          "agent state: expected an allowed device for group {}, got {}", group, device));
    }
    placement.device[group] = static_cast<DeviceIndex>(device);
  }
  return placement;
}

Outcome StateReader::Result() {
  Outcome outcome;
  outcome.step_time = Int("a step time");
  outcome.feasible = Int("0 or 1") != 0;
  if (const std::int64_t count = Int("a number of devices"); count != problem_.num_devices()) {
    throw InputError(
        fmt::format("agent state: expected {} devices, got {}", problem_.num_devices(), count));
  }
  outcome.devices.resize(problem_.num_devices());
  for (DeviceOutcome& device : outcome.devices) {
    device.busy = Int("a busy time");
    device.peak = Int("a memory peak");
    device.deficit = Int("a deficit");
  }
  return outcome;
}

}  // namespace emplace
