#include "experiments/sweep/process_pool.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiments/stop_request.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr off_t kShownBytes = 2000;  // of what a worker wrote to stderr
constexpr timespec kTick{0, 200'000'000};

struct Worker {
  int task = 0;
  pid_t pid = 0;
  int output = -1;  // a file in memory: what it writes to stdout and stderr
};

// Blocks SIGCHLD, so that Wait() returns for it even if it comes before the wait begins.
class ChildSignals {
 public:
  ChildSignals() {
    sigemptyset(&child_);
    sigaddset(&child_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_, &before_);
  }
  ~ChildSignals() { Restore(); }
  ChildSignals(const ChildSignals&) = delete;
  ChildSignals& operator=(const ChildSignals&) = delete;

  void Restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  /// Until a worker ends, a signal comes or a tick has passed.
  void Wait() const { sigtimedwait(&child_, nullptr, &kTick); }

 private:
  sigset_t child_{}, before_{};
};

[[noreturn]] void Work(const std::function<void(int)>& body, const Worker& worker, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(EXIT_FAILURE);  // it died before prctl()
  signal(SIGINT, SIG_IGN);                            // the supervisor decides
  signal(SIGHUP, SIG_IGN);
  StopRequest::IgnoreRepeats();
  dup2(worker.output, STDOUT_FILENO);
  dup2(worker.output, STDERR_FILENO);
  try {
    body(worker.task);
    std::_Exit(EXIT_SUCCESS);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  } catch (...) {
    fmt::print(stderr, "unknown exception\n");
  }
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

// The last of what a worker wrote, without blanks at the ends.
std::string Tail(int file) {
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::min(size, kShownBytes)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), size - std::ssize(text));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::erase(text, '\0');
  const size_t begin = text.find_first_not_of(" \n"), end = text.find_last_not_of(" \n");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

class Pool {
 public:
  Pool(const std::function<void(int)>& body, const PoolCallbacks& callbacks)
      : body_(body), callbacks_(callbacks) {}

  ~Pool() {
    for (const Worker& worker : workers_) {
      kill(worker.pid, SIGKILL);
      waitpid(worker.pid, nullptr, 0);
      close(worker.output);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  size_t size() const { return workers_.size(); }

  // Starts a worker. Returns why the system refused one, or nothing.
  std::string Begin(int task) {
    Worker worker{task, 0, memfd_create("worker", MFD_CLOEXEC)};
    if (worker.output < 0) {
      return fmt::format("no file for a worker's messages: {}", std::strerror(errno));
    }
    std::fflush(nullptr);  // or the worker would write it once more
    const pid_t parent = getpid();
    worker.pid = fork();
    if (worker.pid < 0) {
      const int problem = errno;
      close(worker.output);
      return fmt::format("no process for a worker: {}", std::strerror(problem));
    }
    if (worker.pid == 0) {
      signals_.Restore();
      Work(body_, worker, parent);
    }
    workers_.push_back(worker);
    return "";
  }

  void AskToStop() {
    if (asked_) return;
    asked_ = true;
    for (const Worker& worker : workers_) {
      kill(worker.pid, SIGTERM);
      kill(worker.pid, SIGCONT);  // a halted process gets SIGTERM only then
    }
  }

  // Waits a tick at most and reports the workers that have ended.
  void Wait() {
    signals_.Wait();
    for (size_t i = 0; i < workers_.size();) {
      int status = 0;
      if (waitpid(workers_[i].pid, &status, WNOHANG) != workers_[i].pid) {
        ++i;
        continue;
      }
      const Worker worker = workers_[i];
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
      const WorkerEnd end = EndOf(worker, status);
      close(worker.output);
      callbacks_.ended(end);
    }
    std::vector<int> running;
    for (const Worker& worker : workers_) running.push_back(worker.task);
    callbacks_.tick(running);
  }

 private:
  static WorkerEnd EndOf(const Worker& worker, int status) {
    WorkerEnd end{worker.task, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS, ""};
    if (end.ok) return end;
    end.error = Tail(worker.output);
    if (WIFSIGNALED(status)) {
      const int number = WTERMSIG(status);
      end.error = fmt::format("killed by signal {} ({}{}){}{}",
                              number,
                              strsignal(number),
                              number == SIGKILL ? ": by hand or for want of memory" : "",
                              end.error.empty() ? "" : ": ",
                              end.error);
    } else if (end.error.empty()) {
      end.error = fmt::format("ended with exit code {}", WEXITSTATUS(status));
    }
    return end;
  }

  const std::function<void(int)>& body_;
  const PoolCallbacks& callbacks_;
  ChildSignals signals_;
  std::vector<Worker> workers_;
  bool asked_ = false;
};

}  // namespace

void RunInProcesses(const std::vector<int>& tasks,
                    int jobs,
                    const std::function<void(int)>& body,
                    const PoolCallbacks& callbacks) {
  EMPLACE_CHECK(jobs >= 1);
  Pool pool(body, callbacks);
  size_t next = 0;
  while (true) {
    while (pool.size() < static_cast<size_t>(jobs) && next < tasks.size() &&
           !StopRequest::requested()) {
      const std::string refused = pool.Begin(tasks[next]);
      if (!refused.empty()) {
        if (pool.size() == 0) throw RunError(refused);
        break;  // the system gives no more of them now; it may when one has ended
      }
      ++next;
    }
    if (StopRequest::requested()) pool.AskToStop();
    if (pool.size() == 0) return;
    pool.Wait();
  }
}

}  // namespace emplace
