#include "framework/results/reading_process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/results/results_image.h"

namespace emplace::internal {
namespace {

constexpr const char* kLimitVariable = "EMPLACE_RESULTS_LIMIT";
enum class AnswerKind : char { kAnswer, kDamage, kNoMemory };  // the first byte of each answer

bool SendBytes(int socket, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveBytes(int socket, void* data, size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = recv(socket, bytes, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    bytes += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

// Sends a message with one call, which wakes the other process once.
bool SendMessage(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  std::string message(reinterpret_cast<const char*>(&size), sizeof size);
  message += text;
  return SendBytes(socket, message.data(), message.size());
}

// Returns the address space of this process [B].
std::int64_t AddressSpace() {
  std::int64_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) {
    throw RunError(
        "cannot read /proc/self/statm, which the memory limit of reading results files needs");
  }
  return pages * sysconf(_SC_PAGESIZE);
}

void LowerLimit(__rlimit_resource resource, std::int64_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(most));
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  setrlimit(resource, &limit);
}

// Makes the socket this process's only file, and sets its limits.
void Isolate(int socket, std::int64_t address_space, double seconds) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(socket, 0);
  close_range(1, ~0U, 0);
  LowerLimit(RLIMIT_NOFILE, 1);
  LowerLimit(RLIMIT_CORE, 0);
  LowerLimit(RLIMIT_AS, address_space);
  itimerval time{};
  double whole = 0;
  time.it_value.tv_usec = static_cast<suseconds_t>(1e6 * std::modf(seconds, &whole));
  time.it_value.tv_sec = static_cast<time_t>(whole);
  setitimer(ITIMER_PROF, &time, nullptr);  // ends the process by SIGPROF
}

std::string WithKind(AnswerKind kind, const std::string& text) {
  return static_cast<char>(kind) + text;
}

std::string AnswerOrError(const std::function<std::string(const std::string&)>& answer,
                          const std::string& question) {
  try {
    return WithKind(AnswerKind::kAnswer, answer(question));
  } catch (const std::bad_alloc&) {
    return WithKind(AnswerKind::kNoMemory, "");
  } catch (const std::exception& error) {
    return WithKind(AnswerKind::kDamage, error.what());
  }
}

[[noreturn]] void Serve(const std::function<std::string(const std::string&)>& answer) {
  std::uint64_t size = 0;
  while (ReceiveBytes(0, &size, sizeof size)) {
    std::string question(size, '\0');
    if (!ReceiveBytes(0, question.data(), size)) break;
    if (!SendMessage(0, AnswerOrError(answer, question))) break;
  }
  _exit(0);
}

}  // namespace

ReadingLimits LimitsOfResults() {
  constexpr double kMemory = 4.0 * (1 << 30), kProcessor = 60, kMostFactor = 1e6;
  double factor = 1;
  if (const char* const text = std::getenv(kLimitVariable); text != nullptr && *text != '\0') {
    const char* const end = text + std::strlen(text);
    const auto [read, error] = std::from_chars(text, end, factor);
    if (error != std::errc() || read != end || !(factor > 0 && factor <= kMostFactor)) {
      throw InputError(fmt::format("{}: expected a number above 0, at most {}, got \"{}\"",
                                   kLimitVariable,
                                   kMostFactor,
                                   text));
    }
  }
  return {factor, static_cast<std::int64_t>(factor * kMemory), factor * kProcessor};
}

ReadingProcess::ReadingProcess(std::string name,
                               const ReadingLimits& limits,
                               const std::function<std::string(const std::string&)>& answer)
    : name_(std::move(name)), limits_(limits) {
  const std::int64_t address_space = AddressSpace() + limits.memory;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
    child_ = fork();
    if (child_ == 0) {
      Isolate(ends[1], address_space, limits.processor);
      Serve(answer);
    }
    const int error = errno;
    close(ends[1]);
    if (child_ > 0) {
      socket_ = ends[0];
      return;
    }
    close(ends[0]);
    errno = error;
  }
  throw RunError(
      fmt::format("{}: cannot start the process that reads it: {}", name_, std::strerror(errno)));
}

ReadingProcess::~ReadingProcess() {
  close(socket_);
  End();
}

std::string ReadingProcess::Ask(const std::string& question) {
  const std::lock_guard<std::mutex> lock(asking_);
  std::uint64_t size = 0;
  if (child_ < 0 || !SendMessage(socket_, question) || !ReceiveBytes(socket_, &size, sizeof size)) {
    FailByDeath();
  }
  if (size == 0 || size > static_cast<std::uint64_t>(limits_.memory)) FailIllFormed();
  AnswerKind kind{};
  std::string answer(size - 1, '\0');
  if (!ReceiveBytes(socket_, &kind, 1) || !ReceiveBytes(socket_, answer.data(), answer.size())) {
    FailByDeath();
  }
  switch (kind) {
    case AnswerKind::kAnswer:
      return answer;
    case AnswerKind::kDamage:
      throw DamagedError(fmt::format("{}: {}", name_, answer));
    case AnswerKind::kNoMemory:
      FailByLimit(fmt::format("{} MiB of memory", limits_.memory >> 20));
  }
  FailIllFormed();
}

void ReadingProcess::FailIllFormed() const {
  throw DamagedError(name_ + ": damaged: the process that read it gave a malformed answer");
}

void ReadingProcess::FailByDeath() {
  if (child_ < 0) throw DamagedError(name_ + ": damaged: the process that read it has died");
  const int status = End();
  if (!WIFSIGNALED(status)) FailIllFormed();
  if (WTERMSIG(status) == SIGPROF) {
    FailByLimit(fmt::format("{} s of the processor", limits_.processor));
  }
  if (WTERMSIG(status) == SIGKILL) {  // by a user, or by the system for lack of memory
    throw RunError(name_ + ": the process that read it was killed: is the machine out of memory?");
  }
  throw DamagedError(fmt::format(
      "{}: damaged: the process that read it died: {}", name_, strsignal(WTERMSIG(status))));
}

void ReadingProcess::FailByLimit(const std::string& limit) const {
  throw RunError(
      fmt::format("{}: reading it needs more than {}, the limit; {}={} in the "
                  "environment doubles it",
                  name_,
                  limit,
                  kLimitVariable,
                  2 * limits_.factor));
}

// Returns the status of the process as waitpid() gives it.
int ReadingProcess::End() {
  int status = 0;
  if (child_ > 0) {
    kill(child_, SIGKILL);  // no effect on one that has died
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  child_ = -1;
  return status;
}

}  // namespace emplace::internal
