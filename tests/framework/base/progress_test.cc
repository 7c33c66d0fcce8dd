#include "framework/base/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "framework/base/file.h"
#include "framework/base/parallel.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace emplace {
namespace {

using emplace::testing::Contains;

using testing::TempDir;

// Standard error goes elsewhere while this lives.
class Redirected {
 public:
  explicit Redirected(int fd) : saved_(dup(STDERR_FILENO)) { dup2(fd, STDERR_FILENO); }
  ~Redirected() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
  }

 private:
  int saved_;
};

template <class Body>
std::string Piped(const Body& body) {
  const TempDir dir;
  const int fd = open((dir / "stderr").c_str(), O_WRONLY | O_CREAT, 0600);
  {
    const Redirected redirected(fd);
    body();
  }
  close(fd);
  return ReadFile(dir / "stderr");
}

template <class Body>
std::string OnTerminal(int columns, const Body& body) {
  const int control = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(control >= 0);
  REQUIRE(grantpt(control) == 0);
  REQUIRE(unlockpt(control) == 0);
  const int terminal = open(ptsname(control), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  ioctl(terminal, TIOCSWINSZ, &size);
  setenv("TERM", "xterm", 1);
  std::string output;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t got; (got = read(control, buffer, sizeof(buffer))) > 0;)
      output.append(buffer, got);
  });
  {
    const Redirected redirected(terminal);
    body();
  }
  close(terminal);  // the last writer: the reader's read ends with an error
  reader.join();
  close(control);
  return output;
}

TEST_CASE("what cannot be written is lost, and that is all") {
  const int fd = open("/dev/full", O_WRONLY);
  REQUIRE(fd >= 0);
  {
    const Redirected redirected(fd);
    Progress progress("runs", 2);
    CHECK_NOTHROW(progress.Line("the first"));
    CHECK_NOTHROW(progress.Update(2));
  }  // nor does the last line throw
  close(fd);
}

TEST_CASE("piped: short work makes one line, at its end") {
  const std::string output = Piped([] {
    Progress progress("search", 1000);
    for (int i = 1; i <= 1000; ++i) progress.Update(i, "best 41.3 ms");
  });
  CHECK(output.starts_with("search: 1000/1000 (100 %) in 0:00, "));
  CHECK(output.ends_with("/s; best 41.3 ms\n"));
  CHECK(std::count(output.begin(), output.end(), '\n') == 1);
  CHECK_FALSE(Contains(output, "\r"));
}

TEST_CASE("piped: unfinished work, an unknown total and nothing done are told as they are") {
  CHECK(Contains(Piped([] { Progress("runs", 8).Update(3); }), "runs: 3/8 (37 %) in 0:00, "));
  CHECK(Contains(Piped([] { Progress("runs", 0).Update(3); }), "runs: 3 in 0:00, "));
  CHECK(Piped([] { Progress("runs", 8); }) == "runs: 0/8 (0 %) in 0:00\n");
}

TEST_CASE("what was done before counts as done, not for the rate") {
  CHECK(Piped([] { Progress("runs", 10, true, 9); }) == "runs: 9/10 (90 %) in 0:00\n");
  const std::string output = Piped([] {
    Progress progress("runs", 10'000'000, true, 9'999'998);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    progress.Update(10'000'000);
  });
  CHECK(output.starts_with("runs: 10000000/10000000 (100 %) in 0:00, "));
  CHECK(!Contains(output, "M/s"));  // 2 in 0.2 s or longer: at most 10/s
}

TEST_CASE(
    "piped: work of known seconds has no rate, and says what is left by the latest estimate") {
  const std::string done = Piped([] { Progress("profiling", 0).UpdateSeconds(75, 0, "done"); });
  CHECK(done == "profiling: 100 % in 0:00; done\n");
  const std::string part = Piped([] { Progress("profiling", 0).UpdateSeconds(30, 90, "steps"); });
  CHECK(part == "profiling: 25 % in 0:00; steps\n");
}

TEST_CASE("on a terminal: an estimate that grows is shown at once") {
  const std::string output = OnTerminal(80, [] {
    Progress progress("profiling", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    progress.UpdateSeconds(60, 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    progress.UpdateSeconds(61, 300);  // the next phase takes longer than was expected
  });
  CHECK(Contains(output, "75 %, 0:20 left"));
  CHECK(Contains(output, "16 %, 5:00 left"));
}

TEST_CASE("piped: lines of one's own stand alone") {
  const std::string output = Piped([] {
    Progress progress("runs", 2);
    progress.Line("#3 agent=ppo seed=2");
  });
  CHECK(output.starts_with("#3 agent=ppo seed=2\nruns: 0/2"));
}

TEST_CASE("disabled: nothing at all") {
  CHECK(Piped([] {
          Progress progress("runs", 2, false);
          progress.Update(1);
          progress.Line("x");
        }) == "");
}

TEST_CASE("threads may report at once and out of order") {
  const std::string output = Piped([] {
    Progress progress("runs", 1000);
    ParallelFor(1000, 4, [&](int i) { progress.Update(1000 - i); });
  });
  CHECK(Contains(output, "runs: 1000/1000 (100 %)"));
}

TEST_CASE("terminal: a bar with rate and time left, redrawn in place, ended by a line end") {
  const std::string output = OnTerminal(100, [] {
    Progress progress("search", 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    progress.Update(1, "best 41.3 ms");
    progress.Line("a line");
    progress.Update(4);
  });
  CHECK(output.starts_with("\rsearch [..............................] 0/4 (0 %)"));
  CHECK(Contains(output, "[#######.......................] 1/4 (25 %), "));
  CHECK(Contains(output, "/s, 0:00 left; best 41.3 ms"));
  CHECK(Contains(output, "\ra line\r\n"));  // the terminal turns \n into \r\n
  CHECK(Contains(output, "[##############################] 4/4 (100 %) in 0:00"));
  CHECK(output.ends_with("\r\n"));
}

TEST_CASE("terminal: no line is wider than the window, the bar gives way first") {
  for (int columns : {10, 30, 45, 60, 200}) {
    const std::string output = OnTerminal(columns, [] {
      Progress progress(
          "gr\xc3\xb6\xc3\x9f"
          "e",
          100);
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      progress.Update(50, "a rather long note behind the bar");
    });
    size_t start = 0;
    while (start < output.size()) {
      const size_t end = std::min(output.find('\r', start), output.size());
      const auto width =
          std::count_if(output.begin() + start, output.begin() + end, [](unsigned char c) {
            return (c & 0xc0) != 0x80 && c != '\n';
          });
      CHECK(width < columns);
      start = end + 1;
    }
    CHECK(Contains(output, "[") == (columns >= 30));
  }
}

}  // namespace
}  // namespace emplace
