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
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiments/console/stop_request.h"

namespace emplace {
namespace {

constexpr off_t kShownBytes = 2000;  // shown end of a worker's stderr
constexpr timespec kTick{0, 200'000'000};

[[noreturn]] void Work(const std::function<void(int)>& body, int task, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(EXIT_FAILURE);  // the parent died before prctl()
  signal(SIGINT, SIG_IGN);                            // the supervisor decides
  signal(SIGHUP, SIG_IGN);
  StopRequest::IgnoreRepeats();
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  try {
    body(task);
    std::_Exit(EXIT_SUCCESS);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  } catch (...) {
    fmt::print(stderr, "unknown exception\n");
  }
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

// Returns the end of a worker's output, without blanks at both ends.
std::string Tail(int file) {
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::min(size, kShownBytes)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), size - std::ssize(text));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::erase(text, '\0');
  const size_t begin = text.find_first_not_of(" \n"), end = text.find_last_not_of(" \n");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

class ProcessPool::Impl {
 public:
  Impl(std::function<void(int)> body, std::function<void(const WorkerEnd&)> ended)
      : body_(std::move(body)), ended_(std::move(ended)) {}

  ~Impl() {
    for (const Worker& worker : workers_) {
      kill(worker.pid, SIGKILL);
      waitpid(worker.pid, nullptr, 0);
      close(worker.output);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }

  std::string Begin(int task) {
    Worker worker{task, 0, memfd_create("worker", MFD_CLOEXEC)};
    if (worker.output < 0) {
      return fmt::format("cannot create a file for a worker's messages: {}", std::strerror(errno));
    }
    std::fflush(nullptr);  // else the worker would write it again
    const pid_t parent = getpid();
    worker.pid = fork();
    if (worker.pid < 0) {
      const int problem = errno;
      close(worker.output);
      return fmt::format("cannot start a process for a worker: {}", std::strerror(problem));
    }
    if (worker.pid == 0) {
      signals_.Restore();
      Work(body_, task, worker.output, parent);
    }
    workers_.push_back(worker);
    return "";
  }

  void AskToStop() {
    if (asked_) return;
    asked_ = true;
    for (const Worker& worker : workers_) {
      kill(worker.pid, SIGTERM);
      kill(worker.pid, SIGCONT);  // a stopped process gets SIGTERM only then
    }
  }

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
      ended_(end);
    }
  }

 private:
  struct Worker {
    int task = 0;
    pid_t pid = 0;
    int output = -1;  // file in memory with its stdout and stderr
  };

  // Blocks SIGCHLD, so that Wait() returns for a signal that arrives before the wait begins.
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
    /// Waits until a worker ends, a signal arrives or a tick has passed.
    void Wait() const { sigtimedwait(&child_, nullptr, &kTick); }

   private:
    sigset_t child_{}, before_{};
  };

  static WorkerEnd EndOf(const Worker& worker, int status) {
    WorkerEnd end{worker.task, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS, ""};
    if (end.ok) return end;
    end.error = Tail(worker.output);
    if (WIFSIGNALED(status)) {
      const int number = WTERMSIG(status);
      end.error = fmt::format("killed by signal {} ({}{}){}{}",
                              number,
                              strsignal(number),
                              number == SIGKILL ? ": by a user or because memory ran out" : "",
                              end.error.empty() ? "" : ": ",
                              end.error);
    } else if (end.error.empty()) {
      end.error = fmt::format("ended with exit code {}", WEXITSTATUS(status));
    }
    return end;
  }

  std::function<void(int)> body_;
  std::function<void(const WorkerEnd&)> ended_;
  ChildSignals signals_;
  std::vector<Worker> workers_;
  bool asked_ = false;
};

ProcessPool::ProcessPool(std::function<void(int)> body, std::function<void(const WorkerEnd&)> ended)
    : impl_(std::make_unique<Impl>(std::move(body), std::move(ended))) {
}

ProcessPool::~ProcessPool() = default;

int ProcessPool::size() const {
  return impl_->size();
}

std::string ProcessPool::Begin(int task) {
  return impl_->Begin(task);
}

void ProcessPool::AskToStop() {
  impl_->AskToStop();
}

void ProcessPool::Wait() {
  impl_->Wait();
}

}  // namespace emplace
