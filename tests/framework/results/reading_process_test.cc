#include "framework/results/reading_process.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/results/results_image.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"

using namespace emplace;
using namespace emplace::testing;
using emplace::internal::ReadingLimits;
using emplace::internal::ReadingProcess;

namespace {

const ReadingLimits kSmall = {0.5, std::int64_t{256} << 20, 0.5};

// The process of a file "r.h5" that was asked "a question" once, by the error that this threw.
template <class Error>
std::string ErrorAfter(const std::function<std::string(const std::string&)>& answer) {
  ReadingProcess process("r.h5", kSmall, answer);
  return MessageOf<Error>([&] { process.Ask("a question"); });
}

TEST_CASE("questions are answered with the data of the time when the process began") {
  std::string data = "then";
  ReadingProcess process("r.h5", kSmall, [&](const std::string& question) {
    return question == "long" ? std::string(5'000'000, 'x') : question + " " + data;
  });
  data = "later";
  CHECK(process.Ask("now and") == "now and then");
  CHECK(process.Ask("long") == std::string(5'000'000, 'x'));
  CHECK(process.Ask("") == " then");
}

TEST_CASE("an exception is the file's damage, and the next question is answered") {
  ReadingProcess process("r.h5", kSmall, [](const std::string& question) -> std::string {
    if (question == "bad") throw std::runtime_error("damaged: /x: cannot be read");
    return "fine";
  });
  CHECK(MessageOf<DamagedError>([&] { process.Ask("bad"); }) ==
        "r.h5: damaged: /x: cannot be read");
  CHECK(process.Ask("good") == "fine");
}

TEST_CASE("a process that dies is the file's damage") {
  ReadingProcess process("r.h5", kSmall, [](const std::string&) -> std::string {
    std::raise(SIGSEGV);
    return "";
  });
  CHECK(MessageOf<DamagedError>([&] { process.Ask(""); }) ==
        "r.h5: damaged: the process that read it died: Segmentation fault");
  CHECK(MessageOf<DamagedError>([&] { process.Ask(""); }) ==
        "r.h5: damaged: the process that read it has died");
  CHECK(ErrorAfter<DamagedError>([](const std::string&) -> std::string { std::abort(); }) ==
        "r.h5: damaged: the process that read it died: Aborted");
}

TEST_CASE("a process that another one kills is no damage") {
  CHECK(ErrorAfter<RunError>([](const std::string&) -> std::string {
          std::raise(SIGKILL);
          return "";
        }) == "r.h5: the process that read it was killed: is the machine out of memory?");
}

TEST_CASE("the time of the processor has a limit") {
  CHECK(ErrorAfter<RunError>([](const std::string&) -> std::string {
          for (volatile bool runs = true; runs;) {
          }
          return "";
        }) ==
        "r.h5: reading it needs more than 0.5 s of the processor, the limit; "
        "EMPLACE_RESULTS_LIMIT=1 in the environment doubles it");
}

TEST_CASE("memory has a limit" *
          doctest::skip(kUnderSanitizers)) {  // they have memory of their own
  const auto fill = [](std::size_t bytes) {
    return [bytes](const std::string&) { return std::to_string(std::string(bytes, 'x').size()); };
  };
  CHECK(ErrorAfter<RunError>(fill(std::size_t{300} << 20)) ==
        "r.h5: reading it needs more than 256 MiB of memory, the limit; "
        "EMPLACE_RESULTS_LIMIT=1 in the environment doubles it");
  ReadingProcess process("r.h5", kSmall, fill(std::size_t{200} << 20));
  CHECK(process.Ask("") == "209715200");
}

TEST_CASE("std::bad_alloc is the limit of memory") {
  CHECK(ErrorAfter<RunError>([](const std::string&) -> std::string { throw std::bad_alloc(); }) ==
        "r.h5: reading it needs more than 256 MiB of memory, the limit; "
        "EMPLACE_RESULTS_LIMIT=1 in the environment doubles it");
}

// What the process says instead of an answer: the size of the message, and bytes.
std::string ErrorAfterBytes(std::uint64_t size, const std::string& bytes) {
  return ErrorAfter<DamagedError>([&](const std::string&) -> std::string {
    send(0, &size, sizeof size, 0);
    send(0, bytes.data(), bytes.size(), 0);
    _exit(0);
  });
}

TEST_CASE("answers of another form are the file's damage") {
  const std::string ill_formed = "r.h5: damaged: the process that read it gave a malformed answer";
  CHECK(ErrorAfterBytes(0, "") == ill_formed);                  // without the kind of answer
  CHECK(ErrorAfterBytes(~std::uint64_t{0}, "") == ill_formed);  // more than the limit of memory
  CHECK(ErrorAfterBytes(100, "short") == ill_formed);
  CHECK(ErrorAfterBytes(2, "\x07x") == ill_formed);  // no kind of answer
  CHECK(ErrorAfter<DamagedError>([](const std::string&) -> std::string { _exit(3); }) ==
        ill_formed);
}

TEST_CASE("the process opens no file and ignores the signals of its parent") {
  ReadingProcess process("r.h5", kSmall, [](const std::string&) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::raise(signal);
    const int opened = open("/dev/null", 0);
    return std::to_string(opened) + " " + std::to_string(errno == EMFILE);
  });
  CHECK(process.Ask("") == "-1 1");
}

std::ptrdiff_t NumOpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST_CASE("neither a process nor an open file is left") {
  const std::ptrdiff_t before = NumOpenFiles();
  {
    const auto echo = [](const std::string& question) { return question; };
    ReadingProcess one("r.h5", kSmall, echo), idle("s.h5", kSmall, echo);
    CHECK(one.Ask("x") == "x");
    ErrorAfter<DamagedError>([](const std::string&) -> std::string { std::abort(); });
    CHECK(NumOpenFiles() == before + 2);
  }
  CHECK(NumOpenFiles() == before);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("the environment multiplies the limits") {
  const auto with = [](const char* value) {
    setenv("EMPLACE_RESULTS_LIMIT", value, 1);
    return emplace::internal::LimitsOfResults();
  };
  unsetenv("EMPLACE_RESULTS_LIMIT");
  CHECK(emplace::internal::LimitsOfResults().memory == std::int64_t{4} << 30);
  CHECK(emplace::internal::LimitsOfResults().processor == 60);
  CHECK(with("0.25").memory == std::int64_t{1} << 30);
  CHECK(with("0.25").processor == 15);
  for (const char* wrong : {"0", "-1", "nan", "much", "2x", "1e9"}) {
    CAPTURE(wrong);
    CHECK(MessageOf<InputError>([&] { with(wrong); }) ==
          "EMPLACE_RESULTS_LIMIT: expected a number above 0, at most 1000000, got \"" +
              std::string(wrong) + "\"");
  }
  unsetenv("EMPLACE_RESULTS_LIMIT");
}

}  // namespace
