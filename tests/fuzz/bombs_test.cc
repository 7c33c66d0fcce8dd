// Small inputs that would be large if they were believed: refused in seconds and megabytes. Each is
// read in a process of its own, whose peak memory is looked at.

#include <cstdint>
#include <cstring>
#include <functional>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/config/config_node.h"
#include "framework/cost/cost_table.h"
#include "framework/graph/graph_io.h"
#include "framework/results/results_image.h"
#include "framework/results/results_reader.h"
#include "framework/search/state.h"
#include "tests/fuzz/gzip.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"
#include "tests/support/sanitizers.h"

using namespace emplace;
using namespace emplace::fuzz;
using emplace::testing::kUnderSanitizers;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Answer {
  std::string text;  // of the InputError; "read" if there was none, "died" if the process did
  std::int64_t growth = 0;  // of the process while it read [B]
};

// Reads in a child that may take `seconds` of the processor.
Answer ReadApart(const std::function<void()>& read, unsigned seconds = 20) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit time{seconds, seconds}, no_core{0, 0};
    setrlimit(RLIMIT_CPU, &time);
    setrlimit(RLIMIT_CORE, &no_core);
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    std::string text = "read";
    try {
      read();
    } catch (const InputError& error) {
      text = error.what();
    } catch (...) {
      text = "died: threw something else";
    }
    getrusage(RUSAGE_SELF, &after);
    text = fmt::format("{} {}", (after.ru_maxrss - before.ru_maxrss) * 1024, text.substr(0, 1000));
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string message;
  char buffer[2048];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    message.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || message.empty()) return {"died"};
  const std::size_t space = message.find(' ');
  return {message.substr(space + 1), std::stoll(message.substr(0, space))};
}

// AddressSanitizer keeps what is freed and surrounds what is not; without it a fork still copies
// pages that it touches.
std::int64_t Allowed(std::int64_t bytes) {
  return kUnderSanitizers ? 4 * bytes + 300 * kMiB : bytes + 8 * kMiB;
}

void CheckRefused(const Answer& answer, const std::string& part, std::int64_t most) {
  CAPTURE(answer.text);
  CHECK(answer.text.find(part) != std::string::npos);
  CHECK(answer.growth < Allowed(most));
}

std::string Repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

Answer ReadYaml(const std::string& text) {
  return ReadApart([&] { ConfigNode::FromString(text, "bomb.yaml").Dump(); });
}

TEST_CASE("a gzip file of 3 MB that unpacks to 3 GiB") {
  const std::string member = Gzip(std::string(64 * kMiB, ' '), 9);
  const MemoryFile file(Repeated(member, 48));
  // Nothing but the file and a buffer is held: 48 * 65 kB.
  CheckRefused(ReadApart([&] { ReadGraph(file.path()); }),
               "decompresses to more than 2147483648 bytes, the limit",
               16 * kMiB);
  CheckRefused(ReadApart([&] { ResultsReader{file.path()}; }),
               "decompresses to more than 2147483648 bytes, the limit",
               16 * kMiB);
}

TEST_CASE("YAML: aliases of aliases") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    text += fmt::format("a{0}: &a{0} [{1}]\n", i, Repeated(fmt::format("*a{}, ", i - 1), 10));
  }
  CheckRefused(ReadYaml(text), "more than 4194304 values", 32 * kMiB);
  // One text of a megabyte, a thousand times.
  CheckRefused(
      ReadYaml("a: &a " + std::string(1'000'000, 'x') + "\nb: [" + Repeated("*a, ", 1000) + "]\n"),
      "more than 4194304 values",
      64 * kMiB);
}

TEST_CASE("YAML: nesting") {
  for (const char* part : {"[", "{a: ", "- ", "? ", "[{"}) {
    CAPTURE(part);
    const Answer answer = ReadYaml("a: " + Repeated(part, 100'000));
    CAPTURE(answer.text);
    CHECK(answer.text.starts_with("bomb.yaml:"));
    CHECK(answer.growth < Allowed(200 * kMiB));
  }
}

TEST_CASE("JSON: nesting, and a list of very many") {
  const auto parse = [](const std::string& text) {
    return ReadApart([&] { ParseGraph(text, "bomb.json"); });
  };
  CheckRefused(parse("{\"name\": " + std::string(10'000'000, '[')), "nested more than 100", kMiB);
  CheckRefused(parse("{\"name\": " + Repeated("{\"a\":", 1'000'000)), "nested more than 100", kMiB);
  CheckRefused(parse("{\"source\": [" + Repeated("1,", 5'000'000) + "1]}"),
               "more than 1000000 values in one place",
               64 * kMiB);
  CheckRefused(ReadApart([&] {
                 ParseCostTable("{\"machine\": " + std::string(10'000'000, '[') + "}", "bomb.json");
               }),
               "nested more than 100",
               32 * kMiB);
}

TEST_CASE("texts of agents: a matrix of 10^18 numbers") {
  const Answer answer = ReadApart([] {
    std::istringstream in("emplace-policy 1 x\n1\na\n9223372036854775807x1:AAAA\n");
    StateVisitor v(in);
    v.Begin("x");
    UpdateTable table{{"a"}, {}};
    v.Table(table);
  });
  CheckRefused(answer, "expected a table of 1 columns", kMiB);
}

TEST_CASE("HDF5: a list of 2^30 and more numbers, under a right checksum") {
  const std::string sealed = kResultsTarget.seeds().back();
  const std::string sound =
      sealed.substr(0, sealed.size() - emplace::internal::ChecksumLine("").size());
  const auto read = [](const std::string& image) {
    const MemoryFile file(image + emplace::internal::ChecksumLine(image));
    return ReadApart([&] {
      try {
        ResultsReader(file.path()).Ints("/packed");
      } catch (const RunError& error) {
        throw InputError(error.what());
      }
    });
  };
  CHECK(read(sound).text == "read");
  // The dataspace of /packed: version 1, one dimension, eight bytes later 4100 rows and no more.
  const std::uint64_t rows[] = {4100, 4100};
  const size_t space = sound.find(std::string(reinterpret_cast<const char*>(rows), sizeof rows));
  REQUIRE(space != std::string::npos);
  REQUIRE(sound[space - 8] == 1);
  for (const int bits : {30, 40, 62}) {
    std::string bomb = sound;
    const std::uint64_t many = std::uint64_t{1} << bits;
    for (const size_t place : {space, space + 8}) std::memcpy(&bomb[place], &many, sizeof many);
    CheckRefused(read(bomb), "MiB of memory, the limit", 8 * kMiB);
  }
}

}  // namespace
