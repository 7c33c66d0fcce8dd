#include "tests/support/subprocess.h"

#include <chrono>

#include <doctest/doctest.h>
#include <signal.h>

#include "tests/support/text.h"

namespace {

using namespace emplace::testing;

ProcessResult Shell(const std::string& command, const ProcessOptions& options = {}) {
  return RunProcess({"/bin/sh", "-c", command}, options);
}

TEST_CASE("a process that ends: exit code, output, and that of those it began") {
  const ProcessResult result = Shell("(sleep 0.2; echo late) & echo $A; echo no >&2; exit 3",
                                     {.environment = {{"A", "early"}}});
  CHECK(result.exit_code == 3);
  CHECK(result.out == "early\nlate\n");
  CHECK(result.err == "no\n");
  CHECK(Shell("kill -9 $$").exit_code == 128 + SIGKILL);
}

TEST_CASE("a time limit also ends processes that the process began") {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = Shell("sleep 1000 & echo $!; wait", {.timeout_seconds = 1});
  CHECK(result.exit_code == 128 + SIGKILL);
  CHECK(result.err == "killed after 1 s\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  // Gone, or waiting for somebody to look at its end.
  const std::string stat = "/proc/" + result.out.substr(0, result.out.size() - 1) + "/stat";
  CHECK(Shell("for i in $(seq 100); do [ ! -e " + stat + " ] && exit 0; grep -q ') [ZX] ' " + stat +
              " && exit 0; sleep 0.1; done; exit 1")
            .exit_code == 0);
}

TEST_CASE("a process that has ended while another one holds its output: the time limit ends it") {
  const ProcessResult result = Shell("setsid sleep 20 & exit 0", {.timeout_seconds = 1});
  CHECK(result.err == "killed after 1 s\n");
}

TEST_CASE("an interrupt once stderr says so") {
  const ProcessResult result =
      Shell("trap 'echo stopped; exit 5' INT; echo ready >&2; while true; do sleep 0.1; done",
            {.interrupt_when = "ready"});
  CHECK(result.exit_code == 5);
  CHECK(result.out == "stopped\n");
  CHECK(result.seconds_interrupted > 0);
}

}  // namespace
