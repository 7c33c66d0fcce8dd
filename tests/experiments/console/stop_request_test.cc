#include "experiments/console/stop_request.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace emplace;

namespace {

// Exit code of a process of its own that does `body`, or 128 + the signal that has killed it.
int CodeOf(const std::function<int()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    StopRequest::CatchSignals();
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST_CASE("a signal is a request, which is not urgent at once") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    CHECK(CodeOf([&] {
            if (StopRequest::requested() || StopRequest::urgent()) return 1;
            raise(number);
            return StopRequest::requested() && !StopRequest::urgent() ? 0 : 2;
          }) == 0);
  }
}

TEST_CASE("released, signals do what they did before, and requests are forgotten") {
  static volatile std::sig_atomic_t seen = 0;
  CHECK(CodeOf([] {
          if (StopRequest::ReleaseSignals()) return 4;
          signal(SIGINT, [](int) { seen = seen + 1; });
          StopRequest::CatchSignals();
          StopRequest::CatchSignals();  // twice is once
          raise(SIGINT);
          if (!StopRequest::requested() || seen != 0) return 1;
          if (!StopRequest::ReleaseSignals() || StopRequest::ReleaseSignals()) return 5;
          if (StopRequest::requested()) return 2;
          raise(SIGINT);
          return seen == 1 && !StopRequest::requested() ? 0 : 3;
        }) == 0);
}

TEST_CASE("a reader of our output that goes away is none") {
  CHECK(CodeOf([] {
          raise(SIGPIPE);
          return StopRequest::requested() ? 1 : 0;
        }) == 0);
}

TEST_CASE("signals that come together are one request, a later one kills") {
  const auto after = [](const std::vector<int>& together, bool again, bool ignore_repeats) {
    return CodeOf([&] {
      if (ignore_repeats) StopRequest::IgnoreRepeats();
      for (const int number : together) raise(number);
      if (again) std::this_thread::sleep_for(std::chrono::seconds(1));
      if (again) raise(together[0]);
      return StopRequest::requested() ? 4 : 3;
    });
  };
  CHECK(after({SIGINT, SIGINT}, false, false) == 4);
  CHECK(after({SIGTERM, SIGTERM, SIGHUP}, false, false) == 4);
  CHECK(after({SIGINT}, true, false) == 128 + SIGINT);
  CHECK(after({SIGTERM}, true, false) == 128 + SIGTERM);
  CHECK(after({SIGTERM}, true, true) == 4);  // a worker, which its supervisor ends
}

}  // namespace
